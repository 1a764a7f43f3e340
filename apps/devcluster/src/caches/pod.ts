import type { Cached } from '@csi-sidecars/informer'
import type { Pod, Volume } from '@csi-sidecars/kube-types'
import { identityOf } from './identity.ts'

/** One volume of a pod, as far as somebody has to do something for it. */
export type PodVolume =
  /** `ephemeral`: the claim was made for this pod and is its own. */
  | {
      readonly is: 'claim'
      readonly name: string
      readonly claim: string
      readonly readOnly: boolean
      readonly ephemeral: boolean
    }
  /** A CSI volume that lives and dies with the pod. */
  | { readonly is: 'csi'; readonly name: string; readonly source: NonNullable<Volume['csi']> }
  /** emptyDir, configMap, secret, projected and whatever else the node makes by itself. */
  | { readonly is: 'local'; readonly name: string; readonly plugin: string }

/** How the containers use a volume. */
export interface PodUse {
  readonly mounts: ReadonlySet<string>
  readonly devices: ReadonlySet<string>
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'

export interface Container {
  readonly name: string
  readonly image: string
}

/** What is kept of a Pod. */
export interface CachedPod extends Cached {
  readonly namespace: string
  readonly name: string
  /** Empty while nobody has placed it. */
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
    volumes: (spec?.volumes ?? []).map((volume) => podVolume(name, volume)),
    use: useOf(pod),
    nodeSelector: spec?.nodeSelector ?? {},
    tolerations: spec?.tolerations ?? [],
    serviceAccount: spec?.serviceAccountName || 'default',
  }
}

function podVolume(pod: string, volume: Volume): PodVolume {
  const { name, persistentVolumeClaim: claim, ephemeral, csi } = volume
  if (claim != null) {
    return { is: 'claim', name, claim: claim.claimName, readOnly: claim.readOnly === true, ephemeral: false }
  }
  if (ephemeral != null) return { is: 'claim', name, claim: `${pod}-${name}`, readOnly: false, ephemeral: true }
  if (csi != null) return { is: 'csi', name, source: csi }
  const plugin = Object.keys(volume).find((field) => field !== 'name') ?? 'emptyDir'
  return { is: 'local', name, plugin }
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

/** Its containers have ended for good, or will never be started. */
export function isTerminated(pod: Pick<CachedPod, 'phase' | 'deleting' | 'containersRun'>): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed' || (pod.deleting && !pod.containersRun)
}

/** The keys of the claims that the pod uses. */
export function claimKeysOf(pod: Pick<CachedPod, 'namespace' | 'volumes'>): string[] {
  return pod.volumes.flatMap((volume) => (volume.is === 'claim' ? [`${pod.namespace}/${volume.claim}`] : []))
}
