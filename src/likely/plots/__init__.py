"""Plots, each drawn once: functions over a few primitives that every canvas offers.

``canvas.py`` has the axes, the protocol of a canvas and the thinning of curves, ``curves.py`` the plots. The package
``likely.displays`` draws them with matplotlib, ``likely.report`` as SVG; this package imports neither.
"""
