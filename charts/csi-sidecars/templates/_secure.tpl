{{/* TLS and authorization of the sidecars' HTTP endpoint. */}}

{{- define "csi-sidecars.tlsSecret" -}}
{{- with .values.tls -}}
{{- if .secretName -}}
{{ .secretName }}
{{- else if .certManager.enabled -}}
{{ include "csi-sidecars.fullname" $ }}-tls
{{- end -}}
{{- end -}}
{{- end }}

{{/* The volumes that a container needs for it, as JSON: [{name, mountPath, source}]. */}}
{{- define "csi-sidecars.tlsVolumes" -}}
{{- $volumes := list -}}
{{- if .values.tls.enabled -}}
{{- with include "csi-sidecars.tlsSecret" . -}}
{{- $volumes = append $volumes (dict "name" "csi-sidecars-tls" "mountPath" "/etc/csi-sidecars-tls" "source" (dict "secret" (dict "secretName" .))) -}}
{{- end -}}
{{- $ca := .values.tls.clientCA -}}
{{- $clients := dict "name" "csi-sidecars-client-ca" "mountPath" "/etc/csi-sidecars-client-ca" -}}
{{- with $ca.configMapName }}{{ $volumes = append $volumes (merge $clients (dict "source" (dict "configMap" (dict "name" .)))) }}{{ end -}}
{{- with $ca.secretName }}{{ $volumes = append $volumes (merge $clients (dict "source" (dict "secret" (dict "secretName" .)))) }}{{ end -}}
{{- end -}}
{{ $volumes | toJson }}
{{- end }}

{{- define "csi-sidecars.secureFlags" -}}
{{- with .values.tls -}}
{{- if .enabled -}}
{{- if include "csi-sidecars.tlsSecret" $ -}}
{{- include "csi-sidecars.flag" (dict "name" "tls-cert-file" "value" (printf "/etc/csi-sidecars-tls/%s" .certKey)) -}}
{{- include "csi-sidecars.flag" (dict "name" "tls-private-key-file" "value" (printf "/etc/csi-sidecars-tls/%s" .privateKeyKey)) -}}
{{- else -}}
{{- include "csi-sidecars.flag" (dict "name" "tls-self-signed" "value" true) -}}
{{- end -}}
{{- if or .clientCA.configMapName .clientCA.secretName -}}
{{- include "csi-sidecars.flag" (dict "name" "client-ca-file" "value" (printf "/etc/csi-sidecars-client-ca/%s" .clientCA.key)) -}}
{{- end -}}
{{- include "csi-sidecars.flagsOf" (dict "values" $.values "name" "tls") -}}
{{- end -}}
{{- end -}}
{{- if .values.authorization.enabled -}}
{{- include "csi-sidecars.flag" (dict "name" "authorize-metrics" "value" true) -}}
{{- end -}}
{{- include "csi-sidecars.flagsOf" (dict "values" .values "name" "authorization") -}}
{{- end }}

{{/* The names by which the endpoint of a sidecar is known in the cluster. */}}
{{- define "csi-sidecars.serverName" -}}
{{ include "csi-sidecars.fullname" . }}-{{ .app }}-metrics.{{ .release.Namespace }}.svc
{{- end }}

{{/* How a monitor reaches an endpoint. `monitor` holds its values, `tokenFile` a token for one that has none. */}}
{{- define "csi-sidecars.scrapeSecurity" -}}
{{- $tls := .monitor.tlsConfig -}}
{{- if .values.tls.enabled }}
scheme: https
{{- if not $tls }}
{{- $secret := include "csi-sidecars.tlsSecret" . -}}
{{- $verified := dict "ca" (dict "secret" (dict "name" $secret "key" "ca.crt")) "serverName" (include "csi-sidecars.serverName" .) -}}
{{- $tls = ternary $verified (dict "insecureSkipVerify" true) (ne $secret "") -}}
{{- end }}
tlsConfig:
  {{- toYaml $tls | nindent 2 }}
{{- end }}
{{- if .monitor.authorization }}
authorization:
  {{- toYaml .monitor.authorization | nindent 2 }}
{{- else if and .values.authorization.enabled .tokenFile }}
bearerTokenFile: {{ .tokenFile }}
{{- end }}
{{- end }}

{{/* What --authorize-metrics asks of the API server. */}}
{{- define "csi-sidecars.reviewRules" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{- define "csi-sidecars.checkSecurity" -}}
{{- $tls := .values.tls -}}
{{- if not $tls.enabled -}}
{{- range $key, $value := dict "secretName" $tls.secretName "certManager.enabled" $tls.certManager.enabled "clientCA.configMapName" $tls.clientCA.configMapName "clientCA.secretName" $tls.clientCA.secretName "minVersion" $tls.minVersion "cipherSuites" $tls.cipherSuites -}}
{{- if $value }}{{ fail (printf "tls.%s needs tls.enabled." $key) }}{{ end -}}
{{- end -}}
{{- if .values.authorization.enabled -}}
{{- fail "authorization.enabled needs tls.enabled: the tokens of scrapers would cross the network as plain text." -}}
{{- end -}}
{{- end -}}
{{- if and $tls.certManager.enabled (not ($tls.certManager.issuerRef | default dict).name) -}}
{{- fail "tls.certManager.enabled needs tls.certManager.issuerRef with a name: a certificate needs an issuer." -}}
{{- end -}}
{{- if and $tls.clientCA.configMapName $tls.clientCA.secretName -}}
{{- fail "tls.clientCA.configMapName and tls.clientCA.secretName are both given: the authorities are in one of them." -}}
{{- end -}}
{{- end }}
