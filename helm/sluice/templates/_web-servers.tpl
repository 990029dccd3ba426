{{/* A web server, of the role `web` or `ingest`, and what scales it and keeps some of it. */}}

{{/* The container: (list $ "web" .Values.web). */}}
{{- define "sluice.webServer" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := index . 2 -}}
{{ include "sluice.program" (list $root $role "appliance.web_server") }}
args:
  - --host=0.0.0.0
  - --port=8000
  - --processes={{ $values.processes }}
ports:
  - {name: http, containerPort: 8000}
env: {{- include "sluice.environment" (list $root $role) | nindent 2 }}
startupProbe:
  httpGet: {path: /health/live, port: http, httpHeaders: [{name: Host, value: localhost}]}
  periodSeconds: 3
  failureThreshold: 40
livenessProbe:
  httpGet: {path: /health/live, port: http, httpHeaders: [{name: Host, value: localhost}]}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
{{- /* Samples are stored without the queue's server too. */}}
readinessProbe:
  httpGet: {path: {{ eq $role "ingest" | ternary "/health" "/health/ready" }}, port: http, httpHeaders: [{name: Host, value: localhost}]}
  periodSeconds: 5
  timeoutSeconds: 5
lifecycle:
  preStop:
    # Until nobody sends new requests here.
    exec: {command: [sleep, "5"]}
resources: {{- toYaml $values.resources | nindent 2 }}
{{- end }}

{{/* Service, autoscaler and disruption budget: (list $ "web" .Values.web "name"). */}}
{{- define "sluice.webServing" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := index . 2 -}}
{{- $name := index . 3 -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "sluice.metadata" (list $root $role $name) | nindent 2 }}
  {{- with $root.Values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ $root.Values.service.type }}
  selector: {{- include "sluice.selector" (list $root $role) | nindent 4 }}
  ports:
    - {name: http, port: {{ $root.Values.service.port }}, targetPort: http}
{{- if $values.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "sluice.metadata" (list $root $role $name) | nindent 2 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ $name }}}
  minReplicas: {{ $values.autoscaling.min }}
  maxReplicas: {{ $values.autoscaling.max }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ $values.autoscaling.targetCPU }}}
{{- end }}
{{- if $values.disruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "sluice.metadata" (list $root $role $name) | nindent 2 }}
spec:
  maxUnavailable: {{ $values.disruptionBudget.maxUnavailable }}
  # Pods that do not work are in nobody's way.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "sluice.selector" (list $root $role) | nindent 6 }}
{{- end }}
{{- end }}

{{/* Of a probe: whether the signer takes connections. */}}
{{- define "sluice.signerAnswers" -}}
timeoutSeconds: 5
exec:
  command:
    - {{ .Values.image.python }}
    - -c
    - import socket; socket.socket(socket.AF_UNIX).connect("/run/sluice/signer.sock")
{{- end }}
