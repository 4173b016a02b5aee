"""Private images: a mask with its unit stated, QR codes to see what it hides, pictures of complex masks."""

from discreet.publish.imaging.codes import draw_code, scan_code
from discreet.publish.imaging.mask import ImageMask

__all__ = ["ImageMask", "draw_code", "scan_code"]
