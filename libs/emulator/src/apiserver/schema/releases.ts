import { at, isObject, type JsonObject, type KubeObject, withField } from './json.ts'
import type { Kind } from './kinds.ts'

/** The releases of Kubernetes as which the server can answer; the last one unless an option says otherwise. */
export const RELEASES = ['1.27', '1.28', '1.29', '1.30', '1.31', '1.36'] as const
export type Release = (typeof RELEASES)[number]
export const NEWEST_RELEASE: Release = '1.36'

/** Since when a field is stored: the release whose feature gate is on by default. Before, a write drops it. */
const FIELDS: readonly (readonly [kind: string, path: readonly string[], since: number])[] = [
  ['PersistentVolumeClaim', ['status', 'allocatedResources'], 32],
  ['PersistentVolumeClaim', ['status', 'allocatedResourceStatuses'], 32],
  ['PersistentVolumeClaim', ['spec', 'volumeAttributesClassName'], 34],
  ['PersistentVolumeClaim', ['status', 'currentVolumeAttributesClassName'], 34],
  ['PersistentVolumeClaim', ['status', 'modifyVolumeStatus'], 34],
  ['PersistentVolume', ['spec', 'volumeAttributesClassName'], 34],
  ['PersistentVolume', ['status', 'lastPhaseTransitionTime'], 29],
  ['VolumeAttachment', ['status', 'attachError', 'errorCode'], 34],
  ['VolumeAttachment', ['status', 'detachError', 'errorCode'], 34],
  ['CSIDriver', ['spec', 'nodeAllocatableUpdatePeriodSeconds'], 34],
]

const KINDS_SINCE: Readonly<Record<string, number>> = { VolumeAttributesClass: 34 }
const STREAMED_LISTS_SINCE = 34

export function isRelease(text: string): text is Release {
  return (RELEASES as readonly string[]).includes(text)
}

function minorOf(release: Release): number {
  return Number(release.split('.')[1])
}

/** Which kinds a server has. */
export interface Served {
  /** As which Kubernetes it answers. */
  readonly release: Release
  /** Kinds that it does not serve, although the release may have them. */
  readonly absent: ReadonlySet<Kind>
}

export function hasKind({ release, absent }: Served, kind: Kind): boolean {
  return minorOf(release) >= (KINDS_SINCE[kind.kind] ?? 0) && !absent.has(kind)
}

/** Whether a watch may begin with the objects that there are. */
export function streamsLists(release: Release): boolean {
  return minorOf(release) >= STREAMED_LISTS_SINCE
}

/** The object as the release stores it. */
export function asStoredBy(release: Release, kind: Kind, object: KubeObject): KubeObject {
  const newer = FIELDS.filter(([of, , since]) => of === kind.kind && minorOf(release) < since)
  return newer.reduce((rest, [, path]) => (at(rest, ...path) === undefined ? rest : without(rest, path)), object)
}

function without<T extends JsonObject>(object: T, [first = '', ...rest]: readonly string[]): T {
  const below = object[first]
  return withField(object, first, rest.length > 0 && isObject(below) ? without(below, rest) : undefined)
}
