"""What operators put beside a running application: dashboards, alert rules, what to scrape."""

from bucketstate.operations.alerts import alert_rules
from bucketstate.operations.grafana import dashboard
from bucketstate.operations.scraping import METRICS_PATH, scrape_config

__all__ = ["METRICS_PATH", "alert_rules", "dashboard", "scrape_config"]
