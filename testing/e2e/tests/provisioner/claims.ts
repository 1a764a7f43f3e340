import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { DriverReply } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  answering,
  called,
  deleted,
  failure,
  merged,
  OK,
  refusing,
  requested,
  secretCreated,
  together,
  whileRefusing,
  withoutFinalizers,
} from '../../rows/actions.ts'
import { claimed, classCreated, provisionerRows, reports, touched, volumeAnswer } from '../../rows/provisioner/rows.ts'
import {
  createClaim,
  LATE,
  provisionedVolume,
  SELECTED_NODE,
  scene,
  secretParameters,
} from '../../rows/provisioner/scene.ts'

/** Rows about the life of a claim until it has a volume. */

const row = provisionerRows('claims', import.meta.filename)
const QUICK = ['--retry-interval-start=200ms']
const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'

const creating = (...replies: DriverReply[]) => answering({ CreateVolume: replies })
const claimGone = (suffix = '') => withoutFinalizers(PERSISTENT_VOLUME_CLAIMS, `pvc${suffix}`)

row('the provisioner ignores claims and classes of other provisioners, and bound claims', {
  steps: [
    claimed({ annotations: { [PROVISIONER]: 'other.example.com' } }, '-other'),
    claimed({ class: { provisioner: 'other.example.com' } }, '-class'),
    claimed({ spec: { volumeName: 'none' } }, '-bound'),
  ],
})
row('a claim with late binding is provisioned when a node is selected', {
  setup: { class: LATE },
  steps: [claimed(), merged(PERSISTENT_VOLUME_CLAIMS, 'pvc', { metadata: { annotations: { [SELECTED_NODE]: 'n' } } })],
})
row('the beta annotations of a claim may name its provisioner and its class', {
  steps: [
    claimed((t) => ({
      annotations: {
        [PROVISIONER]: undefined,
        'volume.beta.kubernetes.io/storage-provisioner': t.driverName,
        'volume.beta.kubernetes.io/storage-class': t.name('class'),
      },
      spec: { storageClassName: undefined },
    })),
  ],
})
row('a claim that is recreated under its name gets a new volume', { steps: [claimed(), claimGone(), claimed()] })
row('a claim that is being deleted is still provisioned', {
  setup: { args: QUICK, answers: { CreateVolume: [failure(13)] } },
  steps: [
    [
      claimed({ finalizers: ['example.com/mine'] }),
      called('CreateVolume'),
      deleted(PERSISTENT_VOLUME_CLAIMS, 'pvc'),
      creating(OK),
    ],
  ],
})

row('an infeasible claim blocks no other claim, and is retried when its class is recreated', {
  setup: { answers: { CreateVolume: [failure(3), OK] } },
  differs: ['retry-when-cause-is-gone', 'repeated-events'],
  steps: [
    claimed(),
    touched(),
    claimed({}, '-two'),
    deleted(STORAGE_CLASSES, 'class'),
    classCreated(),
    touched('', 'again'),
  ],
})
row('an update of a claim whose CreateVolume call failed causes a retry at once', {
  setup: { args: ['--retry-interval-start=1m'], answers: { CreateVolume: [failure(13)] } },
  differs: ['repeated-events'],
  steps: [claimed(), [creating(OK), touched()]],
})
row('CreateVolume is repeated after --timeout, and after ResourceExhausted of a driver without topology', {
  setup: { args: ['--timeout=1s', ...QUICK], answers: { CreateVolume: ['hang', failure(8, 'full'), OK] } },
  steps: [claimed()],
})

/** CreateVolume fails with the code for a new claim, which is then removed. */
function failedAndGone([name, code]: readonly [string, number]) {
  const suffix = `-${name.toLowerCase()}`
  return together(
    `CreateVolume fails with ${name}, and pvc${suffix} is removed`,
    creating(failure(code)),
    claimed({}, suffix),
    reports('desc = no', suffix),
    claimGone(suffix),
  )
}

/** The gRPC codes of CreateVolume after which the driver may still create the volume. */
const BACKGROUND = { Canceled: 1, DeadlineExceeded: 4, Aborted: 10, Unavailable: 14 }
row('if a gRPC code leaves the result open, CreateVolume is repeated even for a deleted claim', {
  setup: { args: QUICK },
  steps: Object.entries(BACKGROUND).map((code) => [failedAndGone(code), creating(OK)]),
})

const FINAL = {
  Unknown: 2,
  InvalidArgument: 3,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  DataLoss: 15,
  Unauthenticated: 16,
}
// The second try of the last claim comes after a second try of any earlier claim. A call names its claim.
row('after a final gRPC code, CreateVolume is not repeated for a deleted claim', {
  setup: { args: ['--retry-interval-start=2s', '--extra-create-metadata'] },
  steps: [Object.entries(FINAL).map(failedAndGone), [creating(failure(13), OK), claimed()]],
})

row('a new volume that is too small is deleted, and an event says that the deletion failed', {
  setup: {
    args: QUICK,
    class: (t) => ({
      parameters: secretParameters('provisioner-', { name: t.name('secret'), namespace: t.namespace }),
    }),
    answers: { CreateVolume: [volumeAnswer({ capacityBytes: 5n }), OK], DeleteVolume: [failure(13, 'stays')] },
  },
  steps: [secretCreated({ user: 'u' }), claimed()],
})
// A second CreateVolume call would fail.
row('a refused PersistentVolume of a deleted claim is written later, without another CreateVolume call', {
  setup: { args: QUICK, answers: { CreateVolume: [OK, failure(13)] } },
  differs: ['event-of-refused-volume'],
  steps: [
    whileRefusing(
      'POST persistentvolumes',
      refusal(500, 'InternalError', 'refused'),
      claimed(),
      requested('POST persistentvolumes'),
      claimGone(),
    ),
  ],
})

const onNode = (node: string) => claimed((t) => ({ annotations: { [SELECTED_NODE]: t.name(node) } }))
row('a claim loses its selected node if the CSINode of the node is missing', {
  setup: { args: QUICK, nodes: {}, class: LATE },
  steps: [
    [refusing('PUT persistentvolumeclaims', refusal(409, 'Conflict', 'changed'), { times: 2 }), onNode('missing')],
  ],
})
row('ResourceExhausted removes the selected node from the claim', {
  setup: {
    args: QUICK,
    nodes: { node: { keys: ['zone'], labels: { zone: 'z1' } } },
    class: LATE,
    answers: { CreateVolume: [failure(8, 'full')] },
  },
  steps: [onNode('node')],
})

testsOf('provisioner', 'claims')(
  'the provisioner processes at most --worker-threads claims at the same time',
  async (t) => {
    const { driver } = await scene(t, { args: ['--worker-threads=2'] })
    driver.on('CreateVolume', { reply: {}, after: 500 })
    const uids = await Promise.all([0, 1, 2, 3, 4].map((index) => createClaim(t, { suffix: `-${index}` })))
    for (const uid of uids) await provisionedVolume(t, uid)
    const all = driver.callsOf('CreateVolume')
    const runningAt = (time: number): number =>
      all.filter(({ start, end = Number.POSITIVE_INFINITY }) => start <= time && end > time).length
    equal(Math.max(...all.map(({ start }) => runningAt(start))), 2)
  },
)
