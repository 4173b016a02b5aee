"""Private images: a mask with its unit stated, QR codes to see what it hides, pictures of complex masks."""

from discreet.publish.imaging.codes import draw_code, scan_code
from discreet.publish.imaging.images import MaskedImages, publish_images
from discreet.publish.imaging.mask import ImageMask
from discreet.publish.imaging.panels import crop_images, draw_panels, parts

__all__ = [
    "ImageMask",
    "MaskedImages",
    "crop_images",
    "draw_code",
    "draw_panels",
    "parts",
    "publish_images",
    "scan_code",
]
