{{/* Port names have at most 15 characters and must differ in a pod. */}}
{{- define "csi-sidecars.portName" -}}
{{ get (dict "attacher" "metrics-attach" "resizer" "metrics-resizer" "provisioner" "metrics-create" "snapshotter" "metrics-snap" "sidecars" "metrics") .app }}
{{- end }}

{{/* What the OTEL_* variables say of the collector; values are percent-encoded in lists. */}}
{{- define "csi-sidecars.tracingEnv" -}}
{{- $tracing := .values.tracing -}}
{{- if $tracing.enabled -}}
{{- $attributes := list -}}
{{- range $key, $value := $tracing.resourceAttributes }}
{{- $attributes = append $attributes (printf "%s=%s" $key (urlquery $value | replace "+" "%20")) -}}
{{- end -}}
{{- $argument := $tracing.samplerArgument -}}
{{- $variables := dict "OTEL_EXPORTER_OTLP_ENDPOINT" $tracing.endpoint "OTEL_TRACES_SAMPLER" $tracing.sampler "OTEL_TRACES_SAMPLER_ARG" (toString $argument) "OTEL_RESOURCE_ATTRIBUTES" (join "," $attributes) -}}
{{- range $name, $value := $variables }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- with $tracing.headersSecret.name }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ . | quote }}
      key: {{ $tracing.headersSecret.key | quote }}
{{- end }}
{{- end -}}
{{- end }}

{{/*
A sidecar as a container. `app` says which. `containers` are those of the driver: a probe names its port there, and the
API server warns of a port that two containers declare.
*/}}
{{- define "csi-sidecars.container" -}}
{{- $app := get .values .app -}}
name: csi-{{ .app }}
image: {{ include "csi-sidecars.image" . | quote }}
imagePullPolicy: {{ $app.image.pullPolicy | default .values.image.pullPolicy }}
args:
  {{- include "csi-sidecars.args" . | trim | nindent 2 }}
env:
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  {{- $onNodes := include "csi-sidecars.onNodes" . | fromJsonArray }}
  {{- if or (has .app $onNodes) (and (eq .app "sidecars") $onNodes) }}
  - name: NODE_NAME
    valueFrom:
      fieldRef:
        fieldPath: spec.nodeName
  {{- end }}
  {{- if and (include "csi-sidecars.publishesCapacity" .) (has .app (list "provisioner" "sidecars")) }}
  - name: NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  - name: POD_NAME
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  {{- end }}
  {{- with include "csi-sidecars.tracingEnv" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $app.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $app.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $probed := and (eq .app "sidecars") .values.livenessprobe.enabled }}
{{- range .containers }}
{{- range .ports }}
{{- if and (eq (int .containerPort) (int $.values.livenessprobe.port)) (eq (.protocol | default "TCP") "TCP") }}{{ $probed = false }}{{ end }}
{{- end }}
{{- end }}
{{- if or (include "csi-sidecars.serves" .) $probed }}
ports:
  {{- if include "csi-sidecars.serves" . }}
  - name: {{ include "csi-sidecars.portName" . }}
    containerPort: {{ int $app.metricsPort }}
    protocol: TCP
  {{- end }}
  {{- if $probed }}
  - name: livenessprobe
    containerPort: {{ int .values.livenessprobe.port }}
    protocol: TCP
  {{- end }}
{{- end }}
{{- range $kind := list "startupProbe" "livenessProbe" "readinessProbe" }}
{{- $probe := get $app $kind }}
{{- if $probe.enabled }}
{{ $kind }}:
  httpGet:
    path: {{ $probe.path }}
    port: {{ include "csi-sidecars.portName" $ }}
    {{- if $.values.tls.enabled }}
    scheme: HTTPS
    {{- end }}
  {{- toYaml (omit $probe "enabled" "path") | nindent 2 }}
{{- end }}
{{- end }}
{{- with $app.lifecycle }}
lifecycle:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $app.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $security := $app.securityContext }}
{{- /* Our default contradicts it, and Helm merges the two. */}}
{{- if $security.privileged }}{{ $security = omit $security "allowPrivilegeEscalation" }}{{ end }}
{{- with $security }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: {{ .values.socketDir.volumeName | quote }}
    mountPath: {{ .values.socketDir.mountPath }}
  {{- if .values.kubeconfigSecret.name }}
  - name: csi-sidecars-kubeconfig
    mountPath: /etc/csi-sidecars
    readOnly: true
  {{- end }}
  {{- range include "csi-sidecars.tlsVolumes" . | fromJsonArray }}
  - name: {{ .name }}
    mountPath: {{ .mountPath }}
    readOnly: true
  {{- end }}
  {{- with $app.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The volumes that the sidecars mount. Helm merges another kind of volume into the default emptyDir. */}}
{{- define "csi-sidecars.volumes" -}}
{{- $volume := .values.socketDir.volume -}}
{{- if gt (len $volume) 1 }}{{ $volume = omit $volume "emptyDir" }}{{ end -}}
- name: {{ .values.socketDir.volumeName | quote }}
  {{- toYaml $volume | nindent 2 }}
{{- with .values.kubeconfigSecret.name }}
- name: csi-sidecars-kubeconfig
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- range include "csi-sidecars.tlsVolumes" . | fromJsonArray }}
- name: {{ .name }}
  {{- toYaml .source | nindent 2 }}
{{- end }}
{{- end }}
