from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and make our Celery app the one that every process sends its wake-ups with."""
        from dashboard import celery, checks  # noqa: F401

        celery.app.set_default()
