"""The paper's study, and what it did not try: series, baselines, figures and one page."""
