import type { Claim } from '../caches/claim.ts'
import { SELECTED_NODE } from '../caches/metadata.ts'
import type { CachedNode } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { CachedClass } from '../caches/storage.ts'
import type { Volume } from '../caches/volume.ts'
import { findBestMatch } from '../persistent-volume/match.ts'
import { matchesNode } from '../selectors.ts'

/** A claim of the pod that is to be placed. */
export interface ClaimToPlace {
  readonly name: string
  readonly claim: Claim | undefined
  /** The volume to which the claim is bound. */
  readonly volume: Volume | undefined
  readonly storageClass: CachedClass | undefined
  /** True if the claim allows a single pod, and another scheduled pod uses it. */
  readonly isTaken: boolean
}

/** A node that a pod may be placed on, with its free room. */
export interface NodeOption {
  readonly node: CachedNode
  /** The number of pods on the node. */
  readonly pods: number
  /** The number of further claims that fit on the node; undefined if there is no limit. */
  readonly room: number | undefined
}

/** A pod that is not scheduled, and all inputs of its placement. */
export interface PlaceView {
  readonly pod: CachedPod
  readonly claims: readonly ClaimToPlace[]
  readonly nodes: readonly NodeOption[]
  readonly volumes: readonly Volume[]
}

export type PlaceStep =
  /** Reserves an existing volume for the claim. The PersistentVolume controller completes the binding. */
  | { readonly kind: 'reserve'; readonly volume: Volume; readonly claim: Claim }
  /** Requests a new volume that the node can reach. */
  | { readonly kind: 'selectNode'; readonly claim: Claim; readonly node: string }
  | { readonly kind: 'bind'; readonly node: string }
  | { readonly kind: 'report'; readonly message: string }

/** Plans the placement of a pod. The pod gets its node only after all of its claims are bound. */
export function decidePlace(view: PlaceView): readonly PlaceStep[] {
  const { claims } = view
  const obstacle = claims.map(whyNot).find((why) => why !== undefined)
  if (obstacle !== undefined) return [{ kind: 'report', message: obstacle }]
  const refusals = new Map<string, number>()
  const choices: Choice[] = []
  for (const option of view.nodes) {
    const choice = choiceOf(option, view)
    if (typeof choice !== 'string') choices.push(choice)
    else refusals.set(choice, (refusals.get(choice) ?? 0) + 1)
  }
  const chosen = best(choices, selectedNode(claims))
  if (chosen === undefined) return [{ kind: 'report', message: unavailable(view.nodes.length, refusals) }]
  const isBound = claims.every(({ volume }) => volume !== undefined)
  return isBound ? [{ kind: 'bind', node: chosen.node }] : stepsFor(chosen)
}

/** Returns why a claim excludes its pod from all nodes. Undefined if it does not. */
function whyNot({ name, claim, volume, storageClass, isTaken }: ClaimToPlace): string | undefined {
  if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
  if (claim.deleting) return `persistentvolumeclaim "${name}" is being deleted`
  if (claim.phase === 'Lost')
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.volumeName}"`
  if (isTaken) return 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
  const waits = storageClass?.waitsForConsumer === true
  return volume === undefined && !waits ? 'pod has unbound immediate PersistentVolumeClaims' : undefined
}

interface Choice {
  readonly node: string
  readonly pods: number
  readonly reserve: readonly { readonly volume: Volume; readonly claim: Claim }[]
  readonly provision: readonly Claim[]
}

/** Returns the volumes that the pod needs on a node, or the reason that excludes the node. */
function choiceOf({ node, pods, room }: NodeOption, { pod, claims, volumes }: PlaceView): Choice | string {
  if (node.unschedulable || !node.ready) return 'node(s) were unschedulable'
  if (node.taints.some((taint) => isRepelling(taint.effect) && !tolerates(pod, taint)))
    return 'node(s) had untolerated taint(s)'
  const selected = Object.entries(pod.nodeSelector).every(([key, value]) => node.labels[key] === value)
  if (!selected) return "node(s) didn't match Pod's node affinity/selector"
  if (room !== undefined && claims.length > room) return 'node(s) exceed max volume count'
  const place = { name: node.key, labels: node.labels }
  const chosenNames = new Set<string>()
  const reserve: { volume: Volume; claim: Claim }[] = []
  const provision: Claim[] = []
  for (const { claim, volume, storageClass } of claims) {
    if (claim === undefined) continue
    if (volume !== undefined) {
      if (!matchesNode(volume.required, place)) return 'node(s) had volume node affinity conflict'
      continue
    }
    const match = findBestMatch(claim, volumes, { node: place, delayed: true, reserved: chosenNames })
    if (match !== undefined) {
      chosenNames.add(match.key)
      reserve.push({ volume: match, claim })
    } else if (canProvision(storageClass, node)) provision.push(claim)
    else return "node(s) didn't find available persistent volumes to bind"
  }
  return { node: node.key, pods, reserve, provision }
}

function isRepelling(effect: string): boolean {
  return effect === 'NoSchedule' || effect === 'NoExecute'
}

function tolerates(pod: CachedPod, taint: CachedNode['taints'][number]): boolean {
  return pod.tolerations.some(({ key, operator = 'Equal', value = '', effect }) => {
    if (effect && effect !== taint.effect) return false
    if (!key) return operator === 'Exists'
    return key === taint.key && (operator === 'Exists' || value === taint.value)
  })
}

function canProvision(storageClass: CachedClass | undefined, { labels }: CachedNode): boolean {
  if (storageClass === undefined || storageClass.provisioner.startsWith('kubernetes.io/')) return false
  const terms = storageClass.allowedTopologies ?? []
  if (terms.length === 0) return true
  return terms.some(({ matchLabelExpressions }) =>
    (matchLabelExpressions ?? []).every(({ key, values }) => values?.includes(labels[key] ?? '') === true),
  )
}

/** Returns the node that was already selected for an unbound claim, if there is one. */
function selectedNode(claims: readonly ClaimToPlace[]): string | undefined {
  for (const { claim, volume } of claims) {
    const node = claim?.annotations[SELECTED_NODE]
    if (node !== undefined && volume === undefined) return node
  }
  return undefined
}

/** Returns the selected node, or else the node with the fewest pods. The order of the names breaks ties. */
function best(choices: readonly Choice[], selected: string | undefined): Choice | undefined {
  const chosen = choices.find(({ node }) => node === selected)
  return chosen ?? choices.toSorted((a, b) => a.pods - b.pods || (a.node < b.node ? -1 : 1))[0]
}

function stepsFor({ node, reserve, provision }: Choice): readonly PlaceStep[] {
  const asked = provision.filter(({ annotations }) => annotations[SELECTED_NODE] !== node)
  // A volume that is already reserved waits for the PersistentVolume controller.
  const free = reserve.filter(({ volume }) => volume.claimRef === undefined)
  return [
    ...free.map(({ volume, claim }) => ({ kind: 'reserve' as const, volume, claim })),
    ...asked.map((claim) => ({ kind: 'selectNode' as const, claim, node })),
  ]
}

function unavailable(nodes: number, refusals: ReadonlyMap<string, number>): string {
  const reasons = [...refusals].map(([why, count]) => `${count} ${why}`).sort()
  return `0/${nodes} nodes are available: ${reasons.length > 0 ? reasons.join(', ') : 'no nodes available to schedule pods'}.`
}
