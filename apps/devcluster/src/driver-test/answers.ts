import type { Topology, TopologyRequirement, VolumeContentSource } from '@csi-sidecars/csi-proto'
import type { ProxiedCall } from '../proxy/call.ts'
import { namedVolume, text } from './ledger.ts'
import type { Broken } from './promises.ts'

/** Whether a volume that was made has an id, is where it was wanted, and from what it was wanted. */
export function wrongVolume({ method, request, response, code }: ProxiedCall): readonly Broken[] {
  if (method !== 'CreateVolume' || code !== 0) return []
  const volume = namedVolume(response)
  if (volume === undefined) {
    const name = text(request['name'])
    return [{ promise: 'named', about: name, text: `CreateVolume of ${name} succeeded and names no volume` }]
  }
  const { volumeId: about, accessibleTopology, contentSource } = volume
  const wanted = request['accessibilityRequirements'] as TopologyRequirement | undefined
  const source = request['volumeContentSource'] as VolumeContentSource | undefined
  return [
    ...(isReached(accessibleTopology, wanted?.requisite ?? [])
      ? []
      : [
          {
            promise: 'reach' as const,
            about,
            text: `volume ${about} is in ${told(accessibleTopology)}, not where asked`,
          },
        ]),
    ...(source === undefined || nameOf(source) === nameOf(contentSource)
      ? []
      : [
          {
            promise: 'content' as const,
            about,
            text: `volume ${about} is made from ${nameOf(source)} and does not say so`,
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

function told(places: readonly Topology[]): string {
  return places.map(({ segments }) => JSON.stringify(segments)).join(' and ')
}

function nameOf(source: VolumeContentSource | undefined): string | undefined {
  const type = source?.type
  return type?.$case === 'volume' ? `volume ${type.value.volumeId}` : type && `snapshot ${type.value.snapshotId}`
}
