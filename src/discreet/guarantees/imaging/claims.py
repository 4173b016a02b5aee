"""Claims about masked images."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.publish.imaging.*",)
RESTS_ON = (*FITTED, "masked_data", "masks")

_MASK = "discreet.publish.imaging.mask."
_IMAGES = "discreet.publish.imaging.images."

CLAIMS = (
    Claim(
        name="masked-image",
        statement="ImageMask adds exact noise to the integer levels of an image, or to all of their integer "
        "wavelet coefficients, for the largest distance of two images that differ in one pixel, one "
        "rectangle, or everything, as `protects` says: ε-DP, or (ε, δ)-DP, for that change.",
        unit="images of one public size that differ in what `protects` says",
        measure="ApproxDP",
        status="proved",
        source="this project; the transform is that of Choi & Lee 2019, section 4.6",
        proof="imaging.md",
        functions=(
            _MASK + "ImageMask.sensitivity",
            _MASK + "ImageMask.distribution",
            _MASK + "ImageMask.event",
            _MASK + "ImageMask.randomize",
            _MASK + "ImageMask.blur",
            "discreet.publish.wavelets.IntegerTransform.apply",
            "discreet.publish.wavelets.IntegerTransform.column_sums",
        ),
    ),
    Claim(
        name="published-images",
        statement="publish_images() publishes all images of a data set, each masked, in a random order, and "
        "charges what a whole image costs, whatever the mask protects.",
        unit="replace-one with one image per person",
        measure="ApproxDP",
        status="proved",
        source="this project",
        proof="imaging.md",
        functions=(
            _MASK + "ImageMask.event_of_image",
            _IMAGES + "MaskedImages",
            "discreet.publish.row_release.RowRelease.event",
            "discreet.publish.row_release.RowRelease.arrange",
        ),
    ),
)
