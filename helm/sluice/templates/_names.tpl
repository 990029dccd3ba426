{{/* Names and labels. */}}

{{- define "sluice.fullname" -}}
{{- $name := .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- if contains .Chart.Name $name }}{{ $name }}{{ else }}{{ printf "%s-%s" $name .Chart.Name }}{{ end -}}
{{- end }}

{{/* What selects the pods of a component: (list $ "web"). */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* All labels of an object of a component: (list $ "web"). */}}
{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{/* Name, namespace and labels of an object: (list $ "web" "name"). */}}
{{- define "sluice.metadata" -}}
name: {{ index . 2 }}
namespace: {{ (index . 0).Release.Namespace }}
labels: {{- include "sluice.labels" . | nindent 2 }}
{{- end }}

{{- define "sluice.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}
{{- else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "sluice.host" -}}
{{ (urlParse .Values.server.url).hostname }}
{{- end }}

{{/* The Secrets: those that exist, or those that the chart makes. */}}

{{- define "sluice.keysSecret" -}}
{{ .Values.keys.existingSecret | default (printf "%s-keys" (include "sluice.fullname" .)) }}
{{- end }}

{{- define "sluice.signingSecret" -}}
{{ .Values.signing.existingSecret | default (printf "%s-signing" (include "sluice.fullname" .)) }}
{{- end }}

{{- define "sluice.databaseSecret" -}}
{{ .Values.database.trial.enabled | ternary (printf "%s-database" (include "sluice.fullname" .)) .Values.database.existingSecret }}
{{- end }}

{{- define "sluice.queueSecret" -}}
{{ .Values.queue.trial.enabled | ternary (printf "%s-queue" (include "sluice.fullname" .)) .Values.queue.existingSecret }}
{{- end }}

{{/* The key of the Secret of the database with the address for a role: (list $ "web"). */}}
{{- define "sluice.databaseKey" -}}
{{- $root := index . 0 -}}
{{ $root.Values.database.trial.enabled | ternary (index . 1) (index $root.Values.database.urls (index . 1)) }}
{{- end }}

{{/* The ServiceAccount by which the cluster is read. */}}
{{- define "sluice.clusterReader" -}}
{{ include "sluice.fullname" . }}-cluster-reader
{{- end }}

{{/* Whether a queue has work, and so a worker: (list $ "move"); empty: it has none. */}}
{{- define "sluice.hasWork" -}}
{{- if or (ne (index . 1) "move") (hasKey (index . 0).Values.settings "SLUICE_MOVE_COMMAND") }}yes{{ end }}
{{- end }}

{{/* Of a Secret that is made once: helm deletes none of those that it made. */}}
{{- define "sluice.madeOnce" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: "-10"
helm.sh/resource-policy: keep
{{- end }}
