"""Charts as inline SVG: no script, nothing fetched, readable on paper and on a phone.

A chart is a text to be put into a page. It is 360 units wide, so that its letters keep their size
on a phone; pages lay several charts side by side on wider screens. ``CHART_STYLE`` is the style
sheet that a page needs once.
"""

from serigraph.charts.bars import Bar, column_chart, share_chart
from serigraph.charts.drawing import CHART_STYLE
from serigraph.charts.lines import Line, line_chart

__all__ = ["CHART_STYLE", "Bar", "Line", "column_chart", "line_chart", "share_chart"]
