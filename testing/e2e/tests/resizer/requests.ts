import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { EVENTS, type Event, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@csi-sidecars/kube-types'
import { referenceTo } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { called, deleted, failure, OK, reported, withoutFinalizers } from '../../rows/actions.ts'
import { asked, boundClaim, podCreated, raised, resizerRows } from '../../rows/resizer/rows.ts'
import {
  ask,
  createBoundClaim,
  eventsOf,
  expands,
  getClaim,
  grown,
  raised as raisedNow,
  resized,
  scene,
  triesBeforeOthers,
  untilEvent,
  usedBy,
} from '../../rows/resizer/scene.ts'
import type { Action } from '../../rows/row.ts'

const row = resizerRows('resize requests', import.meta.filename)
const QUICK = ['--retry-interval-start=300ms', '--retry-interval-max=300ms']
const FOREIGN = { csi: { driver: 'other.example.com' } }

row('volumes of other drivers, volumes that are not CSI and volumes bound to other claims are not expanded', {
  differs: ['event-of-volume-of-another-claim'],
  steps: [
    raised({ of: { suffix: '-foreign', pv: FOREIGN } }),
    raised({ of: { suffix: '-not-csi', pv: { csi: null, hostPath: { path: '/x' } } } }),
    raised({
      of: (t) => ({
        suffix: '-of-another-claim',
        pv: { claimRef: { namespace: 'default', name: t.name('pvc-of-another-claim'), uid: 'another' } },
      }),
    }),
    raised({
      of: (t) => ({
        suffix: '-with-our-name',
        claim: { metadata: { annotations: { 'volume.kubernetes.io/storage-resizer': t.driverName } } },
        pv: FOREIGN,
      }),
    }),
  ],
})
row('an unbound claim causes no driver call', {
  steps: [raised(), reported(PERSISTENT_VOLUME_CLAIMS, 'pvc', { phase: 'Lost', capacity: { storage: '1Gi' } })],
})

/** Creates the volume of the claim `pvc`. */
const volumeCreated: Action<unknown> = {
  name: 'create PersistentVolume pv',
  run: async (t) =>
    t.createVolume('pv', { claimRef: referenceTo(await getClaim(t)), storageClassName: t.name('class') }),
}
row('a claim with a missing volume is logged as an error, and expanded when the volume exists', {
  setup: { args: QUICK },
  logs: ['"Error syncing PVC" err="PV \\"', '-pvc\\" not found"'],
  steps: [boundClaim(), withoutFinalizers(PERSISTENT_VOLUMES, 'pv'), asked('2Gi'), volumeCreated],
})
row('a larger size that is requested during an expansion is expanded after the first size', {
  differs: ['results-of-own-call'],
  setup: { answers: { ControllerExpandVolume: [{ reply: {}, after: 700 }] } },
  steps: [[raised(), called('ControllerExpandVolume'), asked('3Gi')]],
})
row('a claim that is deleted during ControllerExpandVolume does not end the resizer', {
  differs: ['results-of-own-call'],
  setup: { answers: { ControllerExpandVolume: [{ reply: {}, after: 700 }] } },
  steps: [[raised(), called('ControllerExpandVolume'), deleted(PERSISTENT_VOLUME_CLAIMS, 'pvc')]],
})

const OFFLINE_ONLY = failure(9, 'in use')
const OFFLINE_TWICE = { ControllerExpandVolume: [OFFLINE_ONLY, OFFLINE_ONLY, OK] }
const inUseRow = resizerRows('in use', import.meta.filename)

inUseRow('neither a pod that has ended nor a pod of another claim stops an expansion after FailedPrecondition', {
  setup: { args: QUICK, answers: OFFLINE_TWICE },
  steps: [
    boundClaim(),
    podCreated(),
    reported(PODS, 'pod', { phase: 'Succeeded' }),
    podCreated('other', '-other'),
    asked('2Gi'),
  ],
})
inUseRow('a claim in use is expanded if the driver does not refuse the expansion', {
  steps: [boundClaim(), podCreated(), asked('2Gi')],
})
inUseRow('with --handle-volume-inuse-error=false, claims in use are retried with a driver call', {
  setup: { args: [...QUICK, '--handle-volume-inuse-error=false'], answers: OFFLINE_TWICE },
  steps: [boundClaim(), podCreated(), asked('2Gi')],
})

const test = testsOf('resizer', 'resize requests')

test('ten claims are expanded in parallel by default', async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=1000', '--kube-api-burst=1000'] })
  const { promise: after, resolve: answer } = Promise.withResolvers<void>()
  at.driver.on('ControllerExpandVolume', { reply: {}, after })
  const pvcs: string[] = []
  for (let nth = 0; nth < 12; nth += 1) pvcs.push((await createBoundClaim(t, { suffix: `-${nth}` })).pvc)
  await Promise.all(pvcs.map((pvc) => ask(t, '2Gi', pvc)))
  // The first ten calls end only after the resizer has all requests, so an eleventh call would have begun.
  for (const pvc of pvcs) await t.received(PERSISTENT_VOLUME_CLAIMS, await getClaim(t, pvc))
  await eventually('ten calls', () => expands(at).length >= 10)
  answer()
  for (const pvc of pvcs) await resized(t, '2Gi', pvc)
  const runningAt = (time: number): number =>
    expands(at).filter(({ start, end = Infinity }) => start <= time && end > time).length
  equal(Math.max(...expands(at).map(({ start }) => runningAt(start))), 10)
})

test('the resizer makes no driver call with --workers=0', async (t) => {
  const at = await scene(t, { args: ['--workers=0'] })
  await raisedNow(t)
  await t.received(PERSISTENT_VOLUME_CLAIMS, await getClaim(t))
  equal(expands(at), [])
  equal(at.resizer.exit, undefined)
})

test('after FailedPrecondition, a claim is not expanded until the pod that uses the claim is deleted', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  await createBoundClaim(t)
  await usedBy(t)
  await ask(t, '2Gi')
  await untilEvent(t, 'only supports offline expansion')
  const text = `Unable to expand default/${t.name('pvc')} because CSI driver ${t.driverName} only supports offline expansion and volume is currently in-use`
  ok((await eventsOf(t)).includes(`Warning VolumeResizeFailed ${text}`), `${await eventsOf(t)}`)
  const before = (await triesBeforeOthers(t, at, OFFLINE_ONLY)).length
  ok(before <= 2, `${before} calls`)
  equal((await triesBeforeOthers(t, at, OFFLINE_ONLY)).length, before)
  at.driver.on('ControllerExpandVolume', OK)
  await t.api.delete(PODS, { namespace: 'default', name: t.name('pod') })
  await resized(t, '2Gi')
})

test('the resizer sets every field of an event', async (t) => {
  await scene(t)
  const { pvc, pv } = await grown(t)
  await untilEvent(t, 'VolumeResizeSuccessful')
  const claim = await getClaim(t)
  const [event] = (await t.api.list(EVENTS, 'default')).filter(
    ({ reason, involvedObject }) => reason === 'Resizing' && involvedObject.name === pvc,
  )
  const { metadata, involvedObject, firstTimestamp, lastTimestamp, ...rest } = event ?? { metadata: {} }
  match(metadata.name ?? '', new RegExp(`^${pvc}\\.[0-9a-f]{16}$`))
  equal(metadata.namespace, 'default')
  const { resourceVersion, ...object } = involvedObject ?? {}
  equal(object, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace: 'default',
    name: pvc,
    uid: claim.metadata?.uid,
  })
  ok(typeof resourceVersion === 'string')
  match(firstTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  equal(lastTimestamp, firstTimestamp)
  const component = `external-resizer ${t.driverName}`
  const { source, ...more } = rest as Partial<Event>
  equal(source, { component })
  const { eventTime, ...plain } = more
  equal(eventTime ?? null, null)
  equal(plain, {
    type: 'Normal',
    reason: 'Resizing',
    message: `External resizer is resizing volume ${pv}`,
    count: 1,
    reportingComponent: component,
    reportingInstance: '',
  })
})
