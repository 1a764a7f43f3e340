{{/* One endpoint of a ServiceMonitor or PodMonitor. `monitor` holds its values. */}}
{{- define "csi-sidecars.scrape" -}}
port: {{ include "csi-sidecars.portName" . }}
path: {{ .values.metrics.path }}
interval: {{ .monitor.interval }}
{{- with .monitor.scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- include "csi-sidecars.scrapeSecurity" . }}
{{- with .monitor.relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
