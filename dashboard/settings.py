"""Django's settings. Every value that differs between instances comes from the environment (config.py)."""

from __future__ import annotations

from pathlib import Path

from csp.constants import NONCE, NONE, SELF
from psycopg.conninfo import conninfo_to_dict

from dashboard.config import database_number, read_config

CONFIG = read_config()
BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = CONFIG.secret_key
DEBUG = False
ALLOWED_HOSTS = CONFIG.allowed_hosts
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"

INSTALLED_APPS = [
    "servestatic",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "django_htmx",
    "ninja",
    "ingest",
    "dashboard",
    "dashboard.alerts",
    "dashboard.reports",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.access.AccessMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.access.page_context",
                "csp.context_processors.nonce",
            ],
            "builtins": ["dashboard.templatetags.sixstage"],
        },
    }
]


def _database(url: str) -> dict[str, object]:
    """Django's form of a PostgreSQL URL; anything libpq knows may stand in its query."""
    known = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    parts = conninfo_to_dict(url)
    database: dict[str, object] = {"ENGINE": "django.db.backends.postgresql", "NAME": "sixstage"}
    database |= {known[key]: value for key, value in parts.items() if key in known}
    database["OPTIONS"] = {key: value for key, value in parts.items() if key not in known}
    return database


# The web process takes its connections from a pool (dashboard.pooling), workers keep theirs (ingest.tasks).
DATABASES = {"default": _database(CONFIG.database_url) | {"CONN_MAX_AGE": 0}}

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # Published messages know no database number, so instances that share a server need names of their own.
        # While nobody watches, nothing reads from the server: a connection it has since closed is found out by the
        # first page, whose subscription must then be tried once more. (`retry_on_error` switches that on.)
        "CONFIG": {
            "hosts": [{"address": CONFIG.redis_url, "retry_on_error": [ConnectionError]}],
            "prefix": f"sixstage:{database_number(CONFIG.redis_url)}",
        },
    }
}

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dashboard.package_static.PackageFinder",
]
STATIC_ROOT = CONFIG.data_dir / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = False

# plotly.js sets style attributes on its elements, so style-src-attr cannot be stricter.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "style-src-elem": [SELF, NONCE],
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = CONFIG.public_url.startswith("https://")
SESSION_COOKIE_NAME = "sixstage_session"
CSRF_COOKIE_NAME = "sixstage_csrf"
if CONFIG.behind_proxy:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "live"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Alerts and reports by e-mail; without a host there are none.
EMAIL_HOST, EMAIL_PORT = CONFIG.smtp_host, CONFIG.smtp_port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = CONFIG.smtp_user, CONFIG.smtp_password
EMAIL_USE_TLS, EMAIL_USE_SSL = CONFIG.smtp_security == "starttls", CONFIG.smtp_security == "tls"
EMAIL_TIMEOUT = 15
DEFAULT_FROM_EMAIL = CONFIG.smtp_from

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "ingest.observing.logs.TextLines"},
        "json": {"()": "ingest.observing.logs.JsonLines"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": CONFIG.log_format}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "ingest": {"level": "INFO"},
        "dashboard": {"level": "INFO"},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        # Foreign hosts and missing pages are the client's news, answered there.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django.request": {"level": "ERROR"},
    },
}

# Read by ingest, which knows no dashboard: plain values under names of their own.
SIXSTAGE_OPEN = CONFIG.open
SIXSTAGE_HOST = CONFIG.host
SIXSTAGE_OTLP_HTTP_PORT = CONFIG.otlp_http_port
SIXSTAGE_OTLP_GRPC_PORT = CONFIG.otlp_grpc_port
SIXSTAGE_DATABASE_URL = CONFIG.database_url
SIXSTAGE_REDIS_URL = CONFIG.redis_url
SIXSTAGE_TRACE_IDLE_S = CONFIG.trace_idle_s
SIXSTAGE_BODY_LIMIT_BYTES = CONFIG.body_limit_bytes
SIXSTAGE_PENDING_LIMIT_BYTES = CONFIG.pending_limit_bytes
SIXSTAGE_READING_LIMIT_BYTES = CONFIG.reading_limit_bytes
SIXSTAGE_MAX_ATTRIBUTE_BYTES = CONFIG.max_attribute_bytes
SIXSTAGE_DISK_PATH = CONFIG.disk_path
SIXSTAGE_MIN_FREE_BYTES = CONFIG.min_free_bytes
SIXSTAGE_MAX_DATABASE_BYTES = CONFIG.max_database_bytes
SIXSTAGE_BACKLOG_TRACES = CONFIG.backlog_traces
SIXSTAGE_BACKLOG_AGE_S = CONFIG.backlog_age_s
SIXSTAGE_RETENTION_DAYS = CONFIG.retention_days
SIXSTAGE_ROLLUP_MINUTE_DAYS = CONFIG.rollup_minute_days
SIXSTAGE_ROLLUP_HOUR_DAYS = CONFIG.rollup_hour_days
SIXSTAGE_ROLLUP_KEYS = CONFIG.rollup_keys
SIXSTAGE_EMBEDDED = CONFIG.mode == "embedded"
SIXSTAGE_ENCRYPTION_KEY = CONFIG.encryption_key
SIXSTAGE_ALLOWED_TARGETS = CONFIG.allowed_targets
SIXSTAGE_ENGINES_FILE = CONFIG.engines_file
SIXSTAGE_PRICES_FILE = CONFIG.prices_file
