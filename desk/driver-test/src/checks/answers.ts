import { CODES } from '@csi-sidecars/csi'
import type { CapacityRange, Topology, TopologyRequirement, Volume, VolumeContentSource } from '@csi-sidecars/csi-proto'
import { codeNameOf, type ProxiedCall } from '@csi-sidecars/disturb'
import type { CheckName, Violation } from './checks.ts'
import { namedVolume, type Tracker, text } from './tracker.ts'

/** Returns the errors in the answer to one call. */
export function wrongAnswer(call: ProxiedCall, tracker: Tracker): readonly Violation[] {
  return [...wrongSize(call), ...wrongVolume(call), ...forgottenStage(call, tracker)]
}

/** Checks that a created volume has an ID, the requested topology and the requested source. */
function wrongVolume({ method, request, response, code }: ProxiedCall): readonly Violation[] {
  if (method !== 'CreateVolume' || code !== 0) return []
  const volume = namedVolume(response)
  if (volume === undefined) {
    const name = text(request['name'])
    return [{ check: 'named', subjectId: name, text: `CreateVolume of ${name} succeeded and names no volume` }]
  }
  const { volumeId, accessibleTopology, contentSource } = volume
  const requestedTopology = request['accessibilityRequirements'] as TopologyRequirement | undefined
  const source = request['volumeContentSource'] as VolumeContentSource | undefined
  const unless = (holds: boolean, check: CheckName, text: string): readonly Violation[] =>
    holds ? [] : [{ check, subjectId: volumeId, text: `volume ${volumeId} is ${text}` }]
  const isReachable = isReached(accessibleTopology, requestedTopology?.requisite ?? [])
  const named = source === undefined || nameOf(source) === nameOf(contentSource)
  return [
    ...unless(isReachable, 'reach', `in ${placesText(accessibleTopology)}, not where asked`),
    ...unless(named, 'content', `created from ${nameOf(source)} and does not say so`),
  ]
}

/** Reports whether the volume is accessible from at least one of the requested topologies. */
function isReached(places: readonly Topology[], requisite: readonly Topology[]): boolean {
  if (places.length === 0 || requisite.length === 0) return true
  return places.some(({ segments: place }) =>
    requisite.some(({ segments: requested }) =>
      Object.entries(place).every(([key, value]) => requested[key] === value),
    ),
  )
}

function placesText(places: readonly Topology[]): string {
  return places.map(({ segments }) => JSON.stringify(segments)).join(' and ')
}

function nameOf(source: VolumeContentSource | undefined): string | undefined {
  const type = source?.type
  return type?.$case === 'volume' ? `volume ${type.value.volumeId}` : type && `snapshot ${type.value.snapshotId}`
}

/** Checks that the size in an answer is in the requested range. */
function wrongSize({ method, request, response, code }: ProxiedCall): readonly Violation[] {
  if (code !== 0 || response === undefined) return []
  if (method !== 'CreateVolume' && method !== 'ControllerExpandVolume') return []
  const created = method === 'CreateVolume' ? (response['volume'] as Volume | undefined) : undefined
  const range = request['capacityRange'] as CapacityRange | undefined
  const size = method === 'CreateVolume' ? created?.capacityBytes : (response['capacityBytes'] as bigint)
  // A size of 0 means that the driver does not know the size.
  if (range === undefined || size === undefined || size === 0n) return []
  const { requiredBytes, limitBytes } = range
  const isTooSmall = size < requiredBytes
  const isTooLarge = limitBytes > 0n && size > limitBytes
  if (!isTooSmall && !isTooLarge) return []
  const wrong = isTooSmall ? `${requiredBytes} were required` : `${limitBytes} was the limit`
  const volumeId = created?.volumeId ?? text(request['volumeId'])
  return [
    {
      check: 'capacity',
      subjectId: volumeId,
      text: `${method} of ${volumeId} answered with ${size} bytes where ${wrong}`,
    },
  ]
}

/** The codes by which a driver reports that a volume does not exist or is not staged. */
const ABSENT: ReadonlySet<number | undefined> = new Set([CODES.NotFound, CODES.FailedPrecondition])

/** Reports a publish that fails because the driver has forgotten the stage. A cluster hides this by staging again. */
function forgottenStage(call: ProxiedCall, tracker: Tracker): readonly Violation[] {
  const { method, request, end, code, message } = call
  if (method !== 'NodePublishVolume' || end === undefined || !ABSENT.has(code)) return []
  const volumeId = text(request['volumeId'])
  const volume = tracker.get(volumeId)
  if (volume?.staged.get(text(request['stagingTargetPath'])) !== 'yes') return []
  const answer = `${codeNameOf(code ?? 0)} ${JSON.stringify(message)}`
  return [
    {
      check: 'kept',
      subjectId: volumeId,
      text: `volume ${volumeId} was staged, and NodePublishVolume was answered with ${answer}`,
    },
  ]
}
