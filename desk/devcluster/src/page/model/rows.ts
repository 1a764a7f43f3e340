import { Quantity } from '@csi-sidecars/kube-types'
import type { Attachment, Claim, Volume } from '@csi-sidecars/volume-controllers'
import { isStuck, stuckFrom } from '@csi-sidecars/waits'
import type {
  ClaimRow,
  ClaimSize,
  NodePlace,
  PlaceState,
  ShownVolume,
  Wait,
  WantedClaim,
  WantedPod,
} from '../view/wire.ts'
import type { RowView } from './waits.ts'
import { waitsOf } from './waits.ts'

interface Moment {
  /** The row as the page has shown it last. */
  readonly before: ClaimRow | undefined
  readonly now: number
  /** Called for each wait of the row with the time at which the wait becomes stuck. */
  readonly onWait?: (stuckFrom: number) => void
}

/** Returns the current row of the page. Undefined if all its objects were deleted. */
export function rowOf(id: string, view: RowView, { before, now, onWait }: Moment): ClaimRow | undefined {
  const { claim, volume, pods } = view
  const [pod] = pods
  if (claim === undefined && volume === undefined && pod === undefined) return undefined
  const name = view.claimKey ?? volume?.key ?? pod?.key ?? ''
  return {
    kind: 'row',
    id,
    name,
    ...(claim !== undefined && { claim: wantedClaim(claim) }),
    pods: pods.map(({ key, nodeName, phase, deleting }): WantedPod => ({ key, node: nodeName, phase, deleting })),
    ...(volume !== undefined && { volume: actualVolume(volume, claim) }),
    places: placesOf(view),
    snapshots: view.snapshots.map(({ name, readyToUse, restoreSize, deleting, error }) => ({
      name,
      state: snapshotState({ deleting, error, readyToUse }),
      size: restoreSize ?? '',
    })),
    waits: waitsOf(view).map(({ remedy, ...wait }) => {
      const since = sinceOf(wait, before?.waits ?? []) ?? now
      onWait?.(stuckFrom(remedy, since))
      return { ...wait, since, stuck: isStuck(remedy, { since, now }) }
    }),
  }
}

/** Returns the start of the wait if the row had the same wait before. Messages may differ: they can contain counts. */
function sinceOf(
  { who, object, why }: Pick<Wait, 'who' | 'object' | 'why'>,
  before: readonly Wait[],
): number | undefined {
  return before.find((each) => each.who === who && each.object === object && each.why === why)?.since
}

function wantedClaim(claim: Claim): WantedClaim {
  const { key, phase, request, className, attributesClass, deleting } = claim
  const size = sizeOf(request)
  return { key, phase, size, ...(className !== undefined && { className }), attributesClass, deleting }
}

function actualVolume({ key, phase, capacity, attributesClass }: Volume, claim: Claim | undefined): ShownVolume {
  return { name: key, phase, size: sizeOf(claim?.capacity ?? capacity), capacity, attributesClass }
}

function sizeOf(text: string): ClaimSize {
  return { text, bytes: Number(Quantity.parse(text).bytes()) }
}

function placesOf({ attachments, pods }: RowView): readonly NodePlace[] {
  const running = pods.filter(({ phase }) => phase === 'Running')
  const on = (node: string): readonly string[] =>
    running.filter(({ nodeName }) => nodeName === node).map(({ name }) => name)
  const places = attachments.map((attachment): NodePlace => {
    const { nodeName, attached, attachError, detachError } = attachment
    const users = on(nodeName)
    const error = attached ? detachError : attachError
    const state = placeState(attachment, users.length > 0)
    return { node: nodeName, state, pods: users, ...(error !== undefined && { error }) }
  })
  // If the driver needs no attach, only running pods show on which nodes the volume is mounted.
  const placedNodes = new Set(places.map(({ node }) => node))
  for (const { nodeName } of running) {
    if (!placedNodes.has(nodeName)) places.push({ node: nodeName, state: 'mounted', pods: on(nodeName) })
    placedNodes.add(nodeName)
  }
  return places
}

function placeState({ deleting, attached, attachError, detachError }: Attachment, isUsed: boolean): PlaceState {
  if (deleting) return detachError === undefined ? 'detaching' : 'failing'
  if (!attached) return attachError === undefined ? 'attaching' : 'failing'
  return isUsed ? 'mounted' : 'attached'
}

function snapshotState(
  snapshot: Pick<RowView['snapshots'][number], 'deleting' | 'error' | 'readyToUse'>,
): 'deleting' | 'failing' | 'ready' | 'taking' {
  if (snapshot.deleting) return 'deleting'
  if (snapshot.error !== undefined) return 'failing'
  return snapshot.readyToUse ? 'ready' : 'taking'
}
