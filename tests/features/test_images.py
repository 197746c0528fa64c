"""Every kind of image file comes out as upright RGB, or with a reason."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bangbang.features import UnreadableImageError, read_image
from tests.features.pictures import gradient


def corner(image: Image.Image, x: int, y: int) -> tuple[int, ...]:
    pixel = image.getpixel((x, y))
    assert isinstance(pixel, tuple)
    return pixel


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "CMYK", "YCbCr", "RGBA", "LA", "F"])
def test_every_mode_becomes_rgb_of_about_the_same_brightness(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.tif" if mode in ("CMYK", "YCbCr", "F") else "a.png")
    gradient().convert(mode).save(path)
    seen = read_image(path)
    assert seen.mode == "RGB" and seen.size == (40, 30)
    brightness = [float(np.asarray(each.convert("L"), dtype=np.float64).mean()) for each in (seen, gradient())]
    assert brightness[0] == pytest.approx(brightness[1], abs=3)


def test_sixteen_bit_grey_is_scaled_and_not_clipped(tmp_path: Path) -> None:
    grey = (np.linspace(0, 65535, 256).reshape(16, 16)).astype(np.uint16)
    Image.fromarray(grey).save(tmp_path / "a.png")
    seen = np.asarray(read_image(tmp_path / "a.png"))[..., 0]
    np.testing.assert_allclose(seen, grey / 256, atol=1)


def test_transparent_is_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([0, 0, 255])
    palette.save(tmp_path / "clear.gif", transparency=0)
    for name in ("clear.png", "clear.gif"):
        assert corner(read_image(tmp_path / name), 1, 1) == (255, 255, 255)
    Image.new("RGBA", (4, 4), (255, 0, 0, 255)).save(tmp_path / "solid.png")
    assert corner(read_image(tmp_path / "solid.png"), 1, 1) == (255, 0, 0)


def test_exif_turns_the_image(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright: turn by 90° clockwise to see it as it was
    gradient().save(tmp_path / "turned.jpg", exif=exif, quality=95)
    seen = read_image(tmp_path / "turned.jpg")
    assert seen.size == (30, 40)
    red, green, _ = corner(seen, 0, 0)  # what was bottom left: no red, all green
    assert red < 40 and green > 215


def test_first_frame_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert corner(read_image(tmp_path / "a.gif"), 0, 0) == (255, 0, 0)


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1), (9000, 6000)])
def test_tiny_thin_and_large_images(tmp_path: Path, size: tuple[int, int]) -> None:
    Image.new("RGB", size, (10, 200, 30)).save(tmp_path / "a.jpg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = read_image(tmp_path / "a.jpg")
    assert min(seen.size) <= 4096 and seen.size[0] * size[1] == pytest.approx(seen.size[1] * size[0], rel=0.01)
    assert corner(seen, 0, 0)[1] > 190


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "not an image"), (b"hello", "not an image"), (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "image")],
)
def test_what_is_no_image_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "bad.jpg").write_bytes(content)
    with pytest.raises(UnreadableImageError, match=rf"bad\.jpg: .*{reason}"):
        read_image(tmp_path / "bad.jpg")


def test_cut_off_files_and_missing_ones_are_named(tmp_path: Path) -> None:
    for ending in ("jpg", "png"):
        path = tmp_path / f"half.{ending}"
        gradient(400, 300).save(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(UnreadableImageError, match=r"half\.(jpg|png): damaged"):
            read_image(path)
    with pytest.raises(UnreadableImageError, match="no such file"):
        read_image(tmp_path / "none.jpg")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UnreadableImageError, match="is a pipe or a device"):
        read_image(tmp_path / "pipe.png")


@pytest.mark.parametrize(
    ("width", "height", "message"),
    [
        (17_895_697, 10, r"damaged image \(image file is truncated"),  # the most that docs/captions.md promises to read
        (178_956_971, 1, "too many pixels .*178956971 pixels.* exceeds limit of 178956970 pixels"),
        (60_000, 60_000, "too many pixels .*3600000000 pixels.* exceeds limit of 178956970 pixels"),
    ],
)
def test_too_many_pixels_are_refused_before_they_are_read(
    tmp_path: Path, width: int, height: int, message: str
) -> None:
    (tmp_path / "header.jpg").write_bytes(b"P6\n%d %d\n255\n" % (width, height))  # and nothing after it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnreadableImageError, match=rf"header\.jpg: {message}"):
            read_image(tmp_path / "header.jpg")
