"""Plots as functions over a few primitives of a canvas, independent of the backend.

``canvas.py`` has the axes, the protocol of a canvas and the thinning of curves; ``curves.py`` has the plots. The
package ``likely.displays`` draws them with matplotlib, ``likely.report`` as SVG. This package imports neither.
"""
