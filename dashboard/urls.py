"""Every URL. Views are closed to strangers unless marked public (access.py)."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from dashboard import health, metrics
from dashboard.access import public
from dashboard.api.routes import api
from dashboard.pages import engines, live, reports, run, runs, settings, status

urlpatterns = [
    path("", live.home, name="home"),
    path("live", live.page, name="live"),
    path("live/figures", live.figures, name="live-figures"),
    path("live/charts", live.chart_data, name="live-charts"),
    path("live/feeds", live.feeds, name="live-feeds"),
    path("runs", runs.page, name="runs"),
    path("runs/<str:run_id>", run.page, name="run"),
    path("runs/<str:run_id>/spans/<str:span_id>", run.span, name="run-span"),
    path("engines", engines.page, name="engines"),
    path("engines/<int:engine_id>", engines.engine, name="engine"),
    path("reports", reports.page, name="reports"),
    path("reports/<str:iso_week>.csv", reports.week_csv, name="report-csv"),
    path("reports/<str:iso_week>.pdf", reports.week_pdf, name="report-pdf"),
    path("reports/<str:iso_week>", reports.week, name="report"),
    path("settings/reports", reports.set_schedule, name="settings-reports"),
    path("settings/engines", engines.add, name="settings-engines"),
    path("settings/engines/<int:engine_id>", engines.change, name="settings-engine"),
    path("settings/engines/<int:engine_id>/remove", engines.remove, name="settings-engine-remove"),
    path("settings/", settings.page, name="settings"),
    path("settings/project", settings.rename, name="settings-project"),
    path("settings/limits", settings.limit, name="settings-limits"),
    path("settings/prices", settings.set_prices, name="settings-prices"),
    path("settings/projects", settings.create, name="settings-projects"),
    path("settings/keys", settings.issue_key, name="settings-keys"),
    path("settings/keys/<int:key_id>/revoke", settings.revoke_key, name="settings-key-revoke"),
    path("settings/tokens", settings.issue_token, name="settings-tokens"),
    path("settings/tokens/<int:token_id>/revoke", settings.revoke_token, name="settings-token-revoke"),
    path("settings/members", settings.add_member, name="settings-members"),
    path("settings/members/<int:user_id>/role", settings.change_role, name="settings-member-role"),
    path("settings/members/<int:user_id>/remove", settings.remove_member, name="settings-member-remove"),
    path("status", status.page, name="status"),
    path("status/body", status.body, name="status-body"),
    path("status/again", status.try_again, name="status-again"),
    path("login", public(LoginView.as_view()), name="login"),
    path("logout", public(LogoutView.as_view()), name="logout"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("api/v1/", api.urls),
]
