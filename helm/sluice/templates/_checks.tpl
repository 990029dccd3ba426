{{/* What values cannot say together; the text says what to do. */}}
{{- define "sluice.checks" -}}
{{- with .Values.database }}
{{- if and .trial.enabled .existingSecret }}
{{- fail "database.existingSecret and database.trial.enabled are both set; keep one of them" }}
{{- end }}
{{- if not (or .trial.enabled .existingSecret) }}
{{- fail "there is no database: name a Secret in database.existingSecret, or set database.trial.enabled" }}
{{- end }}
{{- if and .trial.enabled .urls.replica }}
{{- fail "database.urls.replica is a key of database.existingSecret; the database of a trial has no replica" }}
{{- end }}
{{- end }}
{{- with .Values.queue }}
{{- if and .trial.enabled .existingSecret }}
{{- fail "queue.existingSecret and queue.trial.enabled are both set; keep one of them" }}
{{- end }}
{{- if not (or .trial.enabled .existingSecret) }}
{{- fail "there is no queue: name a Secret in queue.existingSecret, or set queue.trial.enabled" }}
{{- end }}
{{- end }}
{{- if and .Values.clusterReader.enabled (not .Values.clusterReader.organisations) }}
{{- fail "clusterReader.organisations is needed: the short names of those who may have this cluster read" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecret) }}
{{- fail "serviceMonitor.tokenSecret is needed: /metrics takes a token of scope metrics" }}
{{- end }}
{{- end }}
