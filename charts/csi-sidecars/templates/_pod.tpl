{{/*
The pod template of a workload. `driver` holds the driver's containers, initContainers and volumes, templated already.
*/}}
{{- define "csi-sidecars.podTemplate" -}}
{{- $controller := .values.controller -}}
{{- $selector := include "csi-sidecars.selectorLabels" . -}}
metadata:
  labels:
    {{- toYaml (merge (fromYaml $selector) ($controller.podLabels | default dict) (.values.commonLabels | default dict)) | nindent 4 }}
  {{- with merge (dict) $controller.podAnnotations .values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "csi-sidecars.serviceAccountName" . }}
  automountServiceAccountToken: {{ .values.serviceAccount.automountServiceAccountToken }}
  {{- with .values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- if $controller.hostNetwork }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  terminationGracePeriodSeconds: {{ int $controller.terminationGracePeriodSeconds }}
  {{- with $controller.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $controller.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    {{- if not (hasKey . "labelSelector") }}
    {{- $own := dict "labelSelector" (dict "matchLabels" (fromYaml $selector)) }}
    - {{ toYaml (merge $own .) | nindent 6 | trim }}
    {{- else }}
    - {{ toYaml . | nindent 6 | trim }}
    {{- end }}
    {{- end }}
  {{- end }}
  {{- with .driver.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    {{- with .driver.containers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- range .workload.apps }}
    - {{ include "csi-sidecars.container" (dict "values" $.values "release" $.release "chart" $.chart "app" .) | nindent 6 | trim }}
    {{- end }}
  volumes:
    {{- include "csi-sidecars.volumes" . | nindent 4 }}
    {{- with .driver.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
