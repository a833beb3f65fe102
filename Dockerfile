# One image for every process of the production layout; docker-compose.yml names the command of each.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SIXSTAGE_MODE=production

WORKDIR /srv/sixstage
COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .

RUN useradd --system --uid 10001 --home-dir /var/lib/sixstage --create-home sixstage
USER sixstage
ENV SIXSTAGE_DATA_DIR=/var/lib/sixstage SIXSTAGE_HOST=0.0.0.0

EXPOSE 8000 4317 4318
CMD ["python", "-m", "uvicorn", "dashboard.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--lifespan", "on"]
