{{/* What `helm test` expects of the release, for files/installation-test.mjs, as JSON. */}}
{{- define "csi-sidecars.expected" -}}
{{- $namespace := .release.Namespace -}}
{{- $workloads := list -}}
{{- $leases := list -}}
{{- $rights := list -}}
{{- range $workload := include "csi-sidecars.workloads" . | fromJsonArray -}}
{{- $this := merge (dict "workload" $workload) $ -}}
{{- $selectors := list -}}
{{- range $key, $value := include "csi-sidecars.selectorLabels" $this | fromYaml }}{{ $selectors = append $selectors (printf "%s=%s" $key $value) }}{{ end -}}
{{- $pods := dict "name" $workload.name "namespace" $namespace "selector" (join "," $selectors) -}}
{{- $workloads = append $workloads $pods -}}
{{- if not $.values.kubeconfigSecret.name -}}
{{- $account := printf "system:serviceaccount:%s:%s" $namespace (include "csi-sidecars.serviceAccountName" $this) -}}
{{- range $app := $workload.sidecars -}}
{{- $own := merge (dict "app" $app) $this -}}
{{- $rights = concat $rights (include "csi-sidecars.rightsOf" (dict "account" $account "rules" (include "csi-sidecars.rules" $own | fromYamlArray)) | fromJsonArray) -}}
{{- if and (eq $app "provisioner") (include "csi-sidecars.publishesCapacity" $own) -}}
{{- $rights = concat $rights (include "csi-sidecars.rightsOf" (dict "account" $account "namespace" $namespace "rules" (include "csi-sidecars.capacityRules" $own | fromYamlArray)) | fromJsonArray) -}}
{{- end -}}
{{- if (include "csi-sidecars.election" $own | fromJson).enabled -}}
{{- $place := include "csi-sidecars.leaseNamespace" $own -}}
{{- $rights = concat $rights (include "csi-sidecars.rightsOf" (dict "account" $account "namespace" $place "rules" (include "csi-sidecars.leaseRules" $own | fromYamlArray)) | fromJsonArray) -}}
{{- $prefix := include "csi-sidecars.leasePrefix" $own -}}
{{- $name := "" -}}
{{- with $.values.driver.name }}{{ $name = printf "%s%s" $prefix (regexReplaceAll "[^a-zA-Z0-9-]" . "-") }}{{ end -}}
{{- $leases = append $leases (dict "app" $app "namespace" $place "workload" $pods "prefix" $prefix "name" ($.values.sidecars.singleLease | default $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ dict "workloads" $workloads "leases" $leases "rights" (uniq $rights) | toJson }}
{{- end }}

{{/* Each right in `rules` as JSON: [{account, attributes}]. */}}
{{- define "csi-sidecars.rightsOf" -}}
{{- $rights := list -}}
{{- range $rule := .rules }}{{ range $group := $rule.apiGroups }}{{ range $resource := $rule.resources }}{{ range $name := $rule.resourceNames | default (list "") }}{{ range $verb := $rule.verbs -}}
{{- $parts := splitList "/" $resource -}}
{{- $attributes := dict "group" $group "resource" (first $parts) "verb" $verb -}}
{{- with rest $parts }}{{ $_ := set $attributes "subresource" (first .) }}{{ end -}}
{{- with $name }}{{ $_ := set $attributes "name" . }}{{ end -}}
{{- with $.namespace }}{{ $_ := set $attributes "namespace" . }}{{ end -}}
{{- $rights = append $rights (dict "account" $.account "attributes" $attributes) -}}
{{- end }}{{ end }}{{ end }}{{ end }}{{ end -}}
{{ $rights | toJson }}
{{- end }}
