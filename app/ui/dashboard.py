"""The dashboard: all its pages."""

from app.ui import admin, assets, compare, datasets, home, jobs, models, orders, review

PAGES = (home, assets, datasets, orders, jobs, review, compare, models, admin)
