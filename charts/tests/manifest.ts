import type { PolicyRule } from '@csi-sidecars/kube-types'
import type { AppName } from '../tools/flag-keys.ts'

/** The fields of rendered objects that the tests read. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly spec?: Spec
  readonly rules?: readonly PolicyRule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[]
  readonly data?: Readonly<Record<string, string>>
}

interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface Spec {
  readonly replicas?: number
  readonly selector?: Readonly<Record<string, string>> & { readonly matchLabels?: Readonly<Record<string, string>> }
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly template?: { readonly metadata: Metadata; readonly spec: PodSpec }
  readonly groups?: readonly { readonly rules: readonly AlertRule[] }[]
  readonly ports?: readonly { readonly name: string; readonly port: number }[]
  readonly [field: string]: unknown
}

/** One alert of a rendered PrometheusRule. `expr` is its PromQL expression. */
export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** The fields of a rendered pod that the tests read. */
export interface PodSpec {
  readonly serviceAccountName: string
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes: readonly (Readonly<Record<string, unknown>> & { readonly name: string })[]
  readonly securityContext?: SecurityContext
  readonly imagePullSecrets?: readonly { readonly name: string }[]
  readonly hostNetwork?: boolean
  readonly hostPID?: boolean
  readonly hostIPC?: boolean
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: unknown }[]
}

/** The fields of a rendered container that the tests read. */
export interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number; readonly hostPort?: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly securityContext?: SecurityContext
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

/** The HTTP request of a rendered probe. The chart renders no other kind of probe. */
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme?: string }
}

/** The fields of a rendered pod's or container's security context that the tests read. */
export interface SecurityContext {
  readonly privileged?: boolean
  readonly runAsNonRoot?: boolean
  readonly runAsUser?: number
  readonly allowPrivilegeEscalation?: boolean
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] }
  readonly seccompProfile?: { readonly type: string }
}

const CONTROLLERS = ['Deployment', 'StatefulSet', 'DaemonSet']

export function ofKind(objects: readonly Manifest[], kind: string): readonly Manifest[] {
  return objects.filter((object) => object.kind === kind)
}

export function named(objects: readonly Manifest[], kind: string, name: string): Manifest {
  const found = ofKind(objects, kind).find(({ metadata }) => metadata.name === name)
  if (found === undefined)
    throw new Error(`no ${kind} ${name} among ${objects.map((o) => `${o.kind} ${o.metadata.name}`)}`)
  return found
}

/** Returns the pod templates of all controllers. */
export function podSpecs(objects: readonly Manifest[]): readonly PodSpec[] {
  return objects.flatMap(({ kind, spec }) =>
    CONTROLLERS.includes(kind) && spec?.template !== undefined ? [spec.template.spec] : [],
  )
}

/** Returns the container of a sidecar from the pods of all controllers. */
export function sidecar(objects: readonly Manifest[], app: AppName | 'sidecars'): Container {
  const container = podSpecs(objects)
    .flatMap(({ containers }) => containers)
    .find(({ name }) => name === `csi-${app}`)
  if (container === undefined) throw new Error(`no container csi-${app}`)
  return container
}
