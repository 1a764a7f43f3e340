import {
  PERSISTENT_VOLUME_CLAIMS as CLAIMS,
  PODS,
  STORAGE_CLASSES,
  PERSISTENT_VOLUMES as VOLUMES,
} from '@csi-sidecars/kube-types'
import {
  changed,
  claim,
  deleted,
  deletedAtOnce,
  lateClass,
  pod,
  type Scenario,
  scenario,
  storageClass,
  volume,
  withBoundClaim,
} from '../scenario.ts'

const released = (suffix: string) => changed(VOLUMES, suffix, { spec: { claimRef: null } })
const BLOCK = { volumeMode: 'Block' as const }
const MANY = { modes: ['ReadWriteMany'] }

/** Scenarios that bind existing claims and volumes. */
export const bindScenarios: readonly Scenario[] = [
  scenario(
    'bind: a claim gets the smallest volume that is large enough',
    [volume('small'), volume('large', { size: '8Gi' }), volume('middle', { size: '4Gi' })],
    [claim('data', { size: '2Gi' })],
  ),
  scenario(
    'bind: fewer access modes win over a better size',
    [volume('one', { size: '8Gi' }), volume('two', { modes: ['ReadWriteOnce', 'ReadWriteMany'] })],
    [claim('data')],
  ),
  scenario('bind: a pending claim gets a new volume', [claim('data', { class: '' })], [volume('pv', { class: '' })]),
  scenario('bind: two claims want one volume', [volume('pv')], [claim('a')], [claim('b')]),
  scenario(
    'bind: a selector chooses by labels',
    [volume('pv-a', { metadata: { labels: { tier: 'a' } } }), volume('pv-b', { metadata: { labels: { tier: 'b' } } })],
    [claim('data', { selector: { matchLabels: { tier: 'b' } } })],
    [claim('other', { selector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['a'] }] } })],
  ),
  scenario(
    'bind: a claim without a class fits only a volume without a class',
    [volume('classed'), claim('data', { class: '' })],
    [volume('plain', { class: '' })],
  ),
  scenario('bind: the volume modes differ', [volume('pv', BLOCK), claim('files'), claim('device', BLOCK)]),
  scenario('bind: no volume has the access mode', [volume('pv'), claim('data', { class: '', ...MANY })]),
  scenario(
    'bind: a volume in deletion is not bound',
    [volume('pv', { class: '', metadata: { finalizers: ['example.com/held'] } })],
    [deleted(VOLUMES, 'pv')],
    [claim('data', { class: '' })],
  ),
  scenario('name: the volume exists', [volume('pv')], [claim('data', { volume: 'pv' })]),
  scenario('name: the volume comes later', [claim('data', { volume: 'pv' })], [volume('pv')]),
  scenario('name: the volume is too small', [volume('pv'), claim('data', { volume: 'pv', size: '2Gi' })]),
  scenario('name: the wrong class', [volume('pv'), claim('data', { volume: 'pv', class: 'other' })]),
  scenario('name: the wrong volume mode', [volume('pv'), claim('data', { volume: 'pv', ...BLOCK })]),
  scenario('name: the wrong access mode', [volume('pv'), claim('data', { volume: 'pv', ...MANY })]),
  scenario('name: the wrong attributes class', [
    volume('pv', { volumeAttributesClassName: 'gold' }),
    claim('data', { volume: 'pv' }),
  ]),
  scenario(
    'name: the volume is too small until it grows',
    [volume('pv'), claim('data', { volume: 'pv', size: '2Gi' })],
    [changed(VOLUMES, 'pv', { spec: { capacity: { storage: '2Gi' } } })],
  ),
  scenario('name: the volume has another claim', [volume('pv')], [claim('a')], [claim('b', { volume: 'pv' })]),
  scenario('name: the volume has another claimRef', [volume('pv', { claim: 'a' }), claim('b', { volume: 'pv' })]),
  scenario(
    'name: the named volume is being deleted',
    [volume('pv', { metadata: { finalizers: ['example.com/held'] } })],
    [deleted(VOLUMES, 'pv')],
    [claim('data', { volume: 'pv' })],
  ),
  scenario('reserve: the claim comes later', [volume('pv', { claim: 'data' })], [claim('data')]),
  scenario('reserve: the claim gets it, not a smaller volume', [
    volume('free'),
    volume('pv', { claim: 'data', size: '8Gi' }),
    claim('data'),
  ]),
  scenario('reserve: volume and claim name each other', [
    volume('pv', { claim: 'data' }),
    claim('data', { volume: 'pv' }),
  ]),
  scenario('reserve: the volume is too small', [
    volume('pv', { class: '', claim: 'data' }),
    claim('data', { class: '', size: '2Gi' }),
  ]),
  scenario('reserve: the wrong volume mode', [
    volume('pv', { class: '', claim: 'data', ...BLOCK }),
    claim('data', { class: '' }),
  ]),
  scenario(
    'reserve: the claim has found another volume',
    [volume('other'), claim('data', { volume: 'other' })],
    [volume('pv', { claim: 'data' })],
  ),
  withBoundClaim(
    'lost: the volume is deleted and recreated without a claim',
    [deletedAtOnce(VOLUMES, 'pv')],
    [volume('pv')],
  ),
  withBoundClaim(
    'lost: the volume is deleted and recreated for another claim',
    [deletedAtOnce(VOLUMES, 'pv')],
    [volume('pv', { claim: 'other' })],
  ),
  withBoundClaim('lost: two claims with one volume', [
    changed(VOLUMES, 'pv', {
      spec: { claimRef: { name: 'other', uid: '11111111-2222-3333-4444-555555555555' } },
    }),
  ]),
  scenario(
    'lost: the claim is marked as bound but has no volume',
    [claim('data', { class: '', metadata: { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } })],
    [volume('pv', { class: '' })],
  ),
  withBoundClaim('bound: the reference is removed from the volume', [released('pv')]),
  withBoundClaim('bound: the mark of the binding is removed from the claim', [
    changed(CLAIMS, 'data', { metadata: { annotations: { 'pv.kubernetes.io/bind-completed': null } } }),
  ]),
  withBoundClaim('bound: the volume gets other access modes', [
    changed(VOLUMES, 'pv', { spec: { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] } }),
  ]),
  withBoundClaim('bound: the volume grows', [changed(VOLUMES, 'pv', { spec: { capacity: { storage: '2Gi' } } })]),
  scenario('bound: the claim has an attributes class', [
    volume('pv', { volumeAttributesClassName: 'gold' }),
    claim('data', { volumeAttributesClassName: 'gold' }),
  ]),
  scenario(
    'delete: a claim that a pod uses stays until the pod is deleted',
    [volume('pv'), claim('data'), pod('app', { node: 'n', claims: ['data'] })],
    [deleted(CLAIMS, 'data')],
    [deleted(PODS, 'app')],
  ),
  scenario(
    'delete: a claim of a pod that is not scheduled',
    [volume('pv'), claim('data'), pod('app', { claims: ['data'] })],
    [deleted(CLAIMS, 'data')],
  ),
  withBoundClaim(
    'delete: a volume stays until its claim is deleted',
    [deleted(VOLUMES, 'pv')],
    [deleted(CLAIMS, 'data')],
  ),
  scenario('delete: a pending claim is deleted', [claim('data', { class: '' })], [deleted(CLAIMS, 'data')]),
  scenario('wait for a consumer: no pod uses the claim', [lateClass('class'), volume('pv'), claim('data')]),
  scenario(
    'wait for a consumer: a pod uses the claim',
    [lateClass('class'), claim('data')],
    [pod('app', { claims: ['data'] })],
    [pod('second', { claims: ['data'] })],
  ),
  scenario(
    'wait for a consumer: the scheduler reserves a volume',
    [lateClass('class'), volume('pv'), claim('data')],
    [
      changed(VOLUMES, 'pv', (scene) => ({
        metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
        spec: { claimRef: { namespace: scene.id, name: 'data' } },
      })),
    ],
  ),
  scenario(
    'default class: a claim that names no class gets it',
    [claim('data', { class: null })],
    [storageClass('class', { metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } } })],
    [deleted(STORAGE_CLASSES, 'class')],
  ),
].map((each) => (each.name.startsWith('default class') ? { ...each, round: 2 } : each))
