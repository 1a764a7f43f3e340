import type { Cached } from '@csi-sidecars/informer'
import type { Pod, Volume } from '@csi-sidecars/kube-types'
import { identityOf } from './metadata.ts'

/** One volume of a pod: a claim, an inline CSI volume, or a volume that the node provides. */
export type PodVolume =
  /** `ephemeral`: the claim was created for this pod, which owns it. */
  | {
      readonly kind: 'claim'
      readonly name: string
      readonly claim: string
      readonly readOnly: boolean
      readonly ephemeral: boolean
    }
  /** A CSI volume with the lifetime of the pod. */
  | { readonly kind: 'csi'; readonly name: string; readonly source: NonNullable<Volume['csi']> }
  /** A volume that the node itself provides, for example `emptyDir` or `configMap`. */
  | { readonly kind: 'local'; readonly name: string; readonly plugin: string }

/** The names of the volumes that the containers mount, and of the volumes that they use as devices. */
export interface PodUse {
  readonly mounts: ReadonlySet<string>
  readonly devices: ReadonlySet<string>
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'

/** A container of a pod. */
export interface Container {
  readonly name: string
  readonly image: string
}

/** The cached fields of a Pod. */
export interface CachedPod extends Cached {
  readonly namespace: string
  readonly name: string
  /** The node of the pod. Empty while the pod is not scheduled. */
  readonly nodeName: string
  readonly schedulerName: string
  readonly deleting: boolean
  readonly phase: PodPhase
  readonly containers: readonly Container[]
  readonly containersRun: boolean
  readonly volumes: readonly PodVolume[]
  readonly use: PodUse
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly tolerations: NonNullable<NonNullable<Pod['spec']>['tolerations']>
  readonly serviceAccount: string
  readonly fsGroup: FsGroup | undefined
}

/** The Unix group that must own the volumes of the pod. */
export interface FsGroup {
  readonly gid: number
  /** True if the node skips a volume whose root folder already belongs to the Unix group. */
  readonly onRootMismatch: boolean
}

export function podProjection(pod: Pod): CachedPod {
  const { metadata, spec, status } = pod
  const name = metadata?.name ?? ''
  return {
    ...identityOf(pod),
    namespace: metadata?.namespace ?? '',
    name,
    nodeName: spec?.nodeName ?? '',
    schedulerName: spec?.schedulerName ?? '',
    deleting: metadata?.deletionTimestamp != null,
    phase: phaseOf(status?.phase),
    containers: (spec?.containers ?? []).map(({ name: container, image = '' }) => ({ name: container, image })),
    containersRun: (status?.containerStatuses ?? []).some(({ state }) => state?.running != null),
    volumes: (spec?.volumes ?? []).map((volume) => podVolume(volume, name)),
    use: useOf(pod),
    nodeSelector: spec?.nodeSelector ?? {},
    tolerations: spec?.tolerations ?? [],
    serviceAccount: spec?.serviceAccountName || 'default',
    fsGroup: fsGroupOf(spec?.securityContext),
  }
}

function fsGroupOf(context: NonNullable<Pod['spec']>['securityContext']): FsGroup | undefined {
  const { fsGroup, fsGroupChangePolicy } = context ?? {}
  return fsGroup == null ? undefined : { gid: fsGroup, onRootMismatch: fsGroupChangePolicy === 'OnRootMismatch' }
}

function podVolume(volume: Volume, pod: string): PodVolume {
  const { name, persistentVolumeClaim: claim, ephemeral, csi } = volume
  if (claim != null) {
    return { kind: 'claim', name, claim: claim.claimName, readOnly: claim.readOnly === true, ephemeral: false }
  }
  if (ephemeral != null) return { kind: 'claim', name, claim: `${pod}-${name}`, readOnly: false, ephemeral: true }
  if (csi != null) return { kind: 'csi', name, source: csi }
  const plugin = Object.keys(volume).find((field) => field !== 'name') ?? 'emptyDir'
  return { kind: 'local', name, plugin }
}

function useOf({ spec }: Pod): PodUse {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
  return {
    mounts: new Set(containers.flatMap(({ volumeMounts }) => (volumeMounts ?? []).map(({ name }) => name))),
    devices: new Set(containers.flatMap(({ volumeDevices }) => (volumeDevices ?? []).map(({ name }) => name))),
  }
}

const PHASES: readonly string[] = ['Running', 'Succeeded', 'Failed', 'Unknown'] satisfies PodPhase[]

function phaseOf(text: string | undefined): PodPhase {
  return PHASES.includes(text ?? '') ? (text as PodPhase) : 'Pending'
}

/** Reports whether the containers of a pod have ended for good, or will never start. */
export function isTerminated(pod: Pick<CachedPod, 'phase' | 'deleting' | 'containersRun'>): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed' || (pod.deleting && !pod.containersRun)
}

/** Returns the keys of the claims that the pod uses. */
export function claimKeysOf(pod: Pick<CachedPod, 'namespace' | 'volumes'>): string[] {
  return pod.volumes.flatMap((volume) => (volume.kind === 'claim' ? [`${pod.namespace}/${volume.claim}`] : []))
}
