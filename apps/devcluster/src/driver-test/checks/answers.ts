import type { Topology, TopologyRequirement, VolumeContentSource } from '@csi-sidecars/csi-proto'
import type { ProxiedCall } from '../../proxy/call.ts'
import type { Violation } from './checks.ts'
import { namedVolume, text } from './volume-tracker.ts'

/** Whether a created volume has an id, the requested topology and the requested source. */
export function wrongVolume({ method, request, response, code }: ProxiedCall): readonly Violation[] {
  if (method !== 'CreateVolume' || code !== 0) return []
  const volume = namedVolume(response)
  if (volume === undefined) {
    const name = text(request['name'])
    return [{ check: 'named', about: name, text: `CreateVolume of ${name} succeeded and names no volume` }]
  }
  const { volumeId: about, accessibleTopology, contentSource } = volume
  const wanted = request['accessibilityRequirements'] as TopologyRequirement | undefined
  const source = request['volumeContentSource'] as VolumeContentSource | undefined
  return [
    ...(isReached(accessibleTopology, wanted?.requisite ?? [])
      ? []
      : [
          {
            check: 'reach' as const,
            about,
            text: `volume ${about} is in ${placesText(accessibleTopology)}, not where asked`,
          },
        ]),
    ...(source === undefined || nameOf(source) === nameOf(contentSource)
      ? []
      : [
          {
            check: 'content' as const,
            about,
            text: `volume ${about} is created from ${nameOf(source)} and does not say so`,
          },
        ]),
  ]
}

/** One place from which it can be reached has to be among those that were asked for. */
function isReached(places: readonly Topology[], requisite: readonly Topology[]): boolean {
  if (places.length === 0 || requisite.length === 0) return true
  return places.some(({ segments: place }) =>
    requisite.some(({ segments: wanted }) => Object.entries(place).every(([key, value]) => wanted[key] === value)),
  )
}

function placesText(places: readonly Topology[]): string {
  return places.map(({ segments }) => JSON.stringify(segments)).join(' and ')
}

function nameOf(source: VolumeContentSource | undefined): string | undefined {
  const type = source?.type
  return type?.$case === 'volume' ? `volume ${type.value.volumeId}` : type && `snapshot ${type.value.snapshotId}`
}
