import { at, isObject, type JsonObject, type KubeObject, withField } from './json.ts'
import {
  CSI_DRIVER,
  type Kind,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_ATTACHMENT,
  VOLUME_ATTRIBUTES_CLASS,
} from './kinds.ts'

/** The releases of Kubernetes as which the server can answer; the last one unless an option says otherwise. */
export const RELEASES = ['1.27', '1.28', '1.29', '1.30', '1.31', '1.36'] as const
export type Release = (typeof RELEASES)[number]
export const NEWEST_RELEASE: Release = '1.36'

/** Since when a field is stored: the release whose feature gate is on by default. Before, a write drops it. */
const FIELDS: readonly (readonly [kind: Kind, path: readonly string[], since: number])[] = [
  [PERSISTENT_VOLUME_CLAIM, ['status', 'allocatedResources'], 32],
  [PERSISTENT_VOLUME_CLAIM, ['status', 'allocatedResourceStatuses'], 32],
  [PERSISTENT_VOLUME_CLAIM, ['spec', 'volumeAttributesClassName'], 34],
  [PERSISTENT_VOLUME_CLAIM, ['status', 'currentVolumeAttributesClassName'], 34],
  [PERSISTENT_VOLUME_CLAIM, ['status', 'modifyVolumeStatus'], 34],
  [PERSISTENT_VOLUME, ['spec', 'volumeAttributesClassName'], 34],
  [PERSISTENT_VOLUME, ['status', 'lastPhaseTransitionTime'], 29],
  [VOLUME_ATTACHMENT, ['status', 'attachError', 'errorCode'], 34],
  [VOLUME_ATTACHMENT, ['status', 'detachError', 'errorCode'], 34],
  [CSI_DRIVER, ['spec', 'nodeAllocatableUpdatePeriodSeconds'], 34],
]

const KINDS_SINCE: ReadonlyMap<Kind, number> = new Map([[VOLUME_ATTRIBUTES_CLASS, 34]])
const STREAMED_LISTS_SINCE = 34

export function isRelease(text: string): text is Release {
  return (RELEASES as readonly string[]).includes(text)
}

function minorOf(release: Release): number {
  return Number(release.split('.')[1])
}

export function hasKind(release: Release, kind: Kind): boolean {
  return minorOf(release) >= (KINDS_SINCE.get(kind) ?? 0)
}

/** Whether a watch may begin with the objects that there are. */
export function streamsLists(release: Release): boolean {
  return minorOf(release) >= STREAMED_LISTS_SINCE
}

/** The object as the release stores it. */
export function asStoredBy(release: Release, kind: Kind, object: KubeObject): KubeObject {
  const newer = FIELDS.filter(([of, , since]) => of === kind && minorOf(release) < since)
  return newer.reduce((rest, [, path]) => (at(rest, ...path) === undefined ? rest : without(rest, path)), object)
}

function without<T extends JsonObject>(object: T, [first = '', ...rest]: readonly string[]): T {
  const below = object[first]
  return withField(object, first, rest.length > 0 && isObject(below) ? without(below, rest) : undefined)
}
