import type { EventText } from '@csi-sidecars/events'
import type { Patch } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import {
  BETA_STORAGE_PROVISIONER,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from '../caches/metadata.ts'
import type { CachedClass } from '../caches/storage.ts'
import { isForClaim, type Volume } from '../caches/volume.ts'
import { findBestMatch, mismatch } from './match.ts'
import {
  annotateClaimPatch,
  assignClassPatch,
  bindClaimPatch,
  bindVolumePatch,
  claimStatusPatch,
  volumePhasePatch,
} from './patches.ts'

/** A claim and all inputs of its next step, at one moment. */
export interface ClaimBindingView {
  readonly claim: Claim
  /** The volume that the claim names, if it exists. */
  readonly named: Volume | undefined
  /** The volumes that may be bound to a claim without a volume name. */
  readonly volumes: Iterable<Volume>
  /** The class that the claim asks for, if it exists. */
  readonly storageClass: CachedClass | undefined
  readonly defaultClass: CachedClass | undefined
  /** Pods that use the claim and are not scheduled yet. */
  readonly waitingPods: readonly string[]
}

export type ClaimStep =
  | { readonly kind: 'patchVolume'; readonly volume: string; readonly patch: Patch }
  | { readonly kind: 'patchVolumeStatus'; readonly volume: string; readonly patch: Patch }
  | { readonly kind: 'patchClaim'; readonly patch: Patch }
  | { readonly kind: 'patchClaimStatus'; readonly patch: Patch }
  | { readonly kind: 'report'; readonly event: EventText }
  | { readonly kind: 'fail'; readonly message: string }

/** Returns the plan for a claim. A claim that was bound once is never bound to another volume. */
export function decideClaim(view: ClaimBindingView): readonly ClaimStep[] {
  if (BIND_COMPLETED in view.claim.annotations) return decideBound(view)
  return view.claim.volumeName === '' ? decideAny(view) : decideNamed(view)
}

/** Keeps a completed binding, or marks the claim as lost. */
function decideBound({ claim, named }: ClaimBindingView): readonly ClaimStep[] {
  if (claim.volumeName === '') {
    return lost(claim, 'ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!')
  }
  if (named === undefined) {
    return lost(claim, 'ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
  }
  if (named.claimRef === undefined || named.claimRef.uid === claim.uid) return bind(claim, named)
  return lost(claim, 'ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly')
}

/** Binds the volume that the claim names, and no other volume. */
function decideNamed({ claim, named }: ClaimBindingView): readonly ClaimStep[] {
  if (named === undefined) return pending(claim)
  if (named.claimRef === undefined) {
    const why = mismatch(claim, named)
    if (why === undefined) return bind(claim, named)
    const message = `Cannot bind to requested volume "${named.key}": ${why}`
    return [report('Warning', 'VolumeMismatch', message), ...pending(claim)]
  }
  if (isForClaim(named, claim)) return bind(claim, named)
  const alreadyBound = report('Warning', 'FailedBinding', `volume "${named.key}" already bound to a different claim.`)
  if (!(BOUND_BY_CONTROLLER in claim.annotations)) return [alreadyBound, ...pending(claim)]
  const owner = `${named.claimRef.namespace}/${named.claimRef.name}`
  const why = `invalid binding of claim "${claim.key}" to volume "${named.key}": volume already claimed by "${owner}"`
  return [alreadyBound, { kind: 'fail', message: why }]
}

/** Binds any suitable volume. If there is none, requests a new volume. */
function decideAny(view: ClaimBindingView): readonly ClaimStep[] {
  const { claim, storageClass, defaultClass } = view
  const delayed = storageClass?.waitsForConsumer === true
  const match = findBestMatch(claim, view.volumes, { delayed })
  if (match !== undefined) return bind(claim, match)
  if (claim.className === undefined && defaultClass !== undefined) {
    return [{ kind: 'patchClaim', patch: assignClassPatch(claim, defaultClass.key) }]
  }
  if (delayed && !(SELECTED_NODE in claim.annotations)) return [waitingForConsumer(view), ...pending(claim)]
  if ((claim.className ?? '') === '') {
    const why = 'no persistent volumes available for this claim and no storage class is set'
    return [report('Normal', 'FailedBinding', why), ...pending(claim)]
  }
  return askForVolume(view)
}

function waitingForConsumer({ waitingPods }: ClaimBindingView): ClaimStep {
  if (waitingPods.length === 0) {
    return report('Normal', 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding')
  }
  const pods = `pod${waitingPods.length > 1 ? 's' : ''} ${waitingPods.join(',')}`
  return report('Normal', 'WaitForPodScheduled', `waiting for ${pods} to be scheduled`)
}

/** The prefix of the names of in-tree plugins, which this controller does not support. */
const IN_TREE_PREFIX = 'kubernetes.io/'

/** Writes the name of the provisioner to the claim. The provisioner waits for this annotation. */
function askForVolume({ claim, storageClass }: ClaimBindingView): readonly ClaimStep[] {
  if (storageClass === undefined) {
    const why = `storageclass.storage.k8s.io "${claim.className}" not found`
    return [report('Warning', 'ProvisioningFailed', why), ...pending(claim)]
  }
  const { provisioner } = storageClass
  if (provisioner.startsWith(IN_TREE_PREFIX)) {
    return [report('Warning', 'ProvisioningFailed', `no volume plugin matched name: ${provisioner}`), ...pending(claim)]
  }
  const waiting =
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the ` +
    'system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly ' +
    'registered.'
  return [...annotateProvisioner(claim, provisioner), report('Normal', 'ExternalProvisioning', waiting)]
}

function annotateProvisioner(claim: Claim, provisioner: string): readonly ClaimStep[] {
  if (claim.annotations[STORAGE_PROVISIONER] === provisioner) return []
  const annotations = { [STORAGE_PROVISIONER]: provisioner, [BETA_STORAGE_PROVISIONER]: provisioner }
  return [{ kind: 'patchClaim', patch: annotateClaimPatch(claim, annotations) }]
}

/** Binds a claim to a volume. The volume is written first, so that it cannot be bound to another claim. */
function bind(claim: Claim, volume: Volume): readonly ClaimStep[] {
  const steps: ClaimStep[] = []
  const add = (does: Exclude<ClaimStep['kind'], 'report' | 'fail'>, patch: Patch | undefined): void => {
    if (patch === undefined) return
    if (does === 'patchVolume' || does === 'patchVolumeStatus') steps.push({ kind: does, volume: volume.key, patch })
    else steps.push({ kind: does, patch })
  }
  add('patchVolume', bindVolumePatch(volume, claim))
  add('patchVolumeStatus', volumePhasePatch(volume, 'Bound'))
  add('patchClaim', bindClaimPatch(claim, volume))
  add('patchClaimStatus', claimStatusPatch(claim, 'Bound', volume))
  return steps
}

function pending(claim: Claim): readonly ClaimStep[] {
  const patch = claimStatusPatch(claim, 'Pending', undefined)
  return patch === undefined ? [] : [{ kind: 'patchClaimStatus', patch }]
}

function lost(claim: Claim, reason: string, message: string): readonly ClaimStep[] {
  if (claim.phase === 'Lost') return []
  const patch = claimStatusPatch(claim, 'Lost', undefined)
  return [
    ...(patch === undefined ? [] : [{ kind: 'patchClaimStatus' as const, patch }]),
    report('Warning', reason, message),
  ]
}

function report(type: EventText['type'], reason: string, message: string): ClaimStep {
  return { kind: 'report', event: { type, reason, message } }
}
