import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { status } from '@grpc/grpc-js'
import { refusal } from '../../harness/api/gate.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import { type Call, codeName, type DriverReply, requiredBytes } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { answering, failure, OK, refusing, secretCreated } from '../../rows/actions.ts'
import { asked, edited, raised, resizerRows } from '../../rows/resizer/rows.ts'
import {
  afterLaterWork,
  ask,
  createBoundClaim,
  expands,
  GI,
  NODE_STEP,
  type ResizerScene,
  raised as raisedNow,
  scene,
  statusWord,
  triesBeforeOthers,
  untilClaim,
} from '../../rows/resizer/scene.ts'

const row = resizerRows('resize fails', import.meta.filename)
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const SECOND = ['--retry-interval-start=300ms']

const FINAL = [
  status.UNKNOWN,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.FAILED_PRECONDITION,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.DATA_LOSS,
  status.UNAUTHENTICATED,
]
const INFEASIBLE = [status.INVALID_ARGUMENT, status.NOT_FOUND, status.OUT_OF_RANGE]
const NOT_FINAL = [
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.UNAVAILABLE,
]
/** The error of a call has the code at the end of the name of the volume, so that a repeated call has the same error. */
function failureByVolume({ request }: Call): DriverReply {
  const code = Number(/-(\d+)-handle$/.exec(String(request['volume_id']))?.[1])
  return failure(code, `why ${codeName(code)}`)
}

for (const [label, codes] of [
  ['a final error sets ControllerResizeError, and the resize stays in progress', FINAL],
  ['an infeasible size sets ControllerResizeError and an infeasible status', INFEASIBLE],
  ['a non-final error sets no condition, and the resize stays in progress', NOT_FINAL],
] as const) {
  row(label, {
    setup: { args: ONCE, answers: { ControllerExpandVolume: [failureByVolume] } },
    steps: codes.map((code) => raised({ of: { suffix: `-${code}` } })),
  })
}

row('an event reports that the secret is missing, and the driver gets no call', {
  setup: { args: ONCE },
  steps: [
    raised({
      of: (t) => ({ pv: { csi: { controllerExpandSecretRef: { name: t.name('no'), namespace: 'default' } } } }),
    }),
  ],
})
row('an event reports that the access modes contradict each other, and the driver gets no call', {
  setup: { args: ONCE },
  steps: [raised({ of: { pv: { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] } } })],
})
row('the expansion fails without a driver call if the Secret is not UTF-8', {
  setup: { args: ONCE },
  steps: [
    secretCreated({ key: Buffer.from([0xff, 0xfe]) }),
    raised({
      of: (t) => ({ pv: { csi: { controllerExpandSecretRef: { name: t.name('secret'), namespace: t.namespace } } } }),
    }),
  ],
})
row('an expansion makes no driver call and records no event if its first patch of the claim is refused', {
  setup: { args: SECOND },
  logs: ['"Error syncing PVC"', ' as resizing failed: '],
  steps: [[refusing('PATCH persistentvolumeclaims/status', ETCD_TIRED, { times: 2 }), raised()]],
})
row('an event reports a refused patch of the volume, and the driver is called again', {
  setup: { args: SECOND },
  steps: [
    [
      refusing('PATCH persistentvolumes', refusal(403, 'Forbidden', 'persistentvolumes "x" is forbidden: no'), {
        times: 1,
      }),
      raised(),
    ],
  ],
})

const FORBIDDEN = refusal(403, 'Forbidden', 'persistentvolumeclaims "x" is forbidden: no')
for (const [label, answer] of [
  ['the last claim patch', OK],
  ['the last claim patch before the work of the kubelet', NODE_STEP],
] as const) {
  row(`an event reports that the API server refuses ${label}`, {
    setup: { args: SECOND, answers: { ControllerExpandVolume: [answer] } },
    steps: [[refusing('PATCH persistentvolumeclaims/status', FORBIDDEN, { after: 1, times: 1 }), raised()]],
  })
}
row('if the error of the driver cannot be written to the claim, an event reports both errors', {
  setup: { args: ONCE, answers: { ControllerExpandVolume: [failure(13)] } },
  steps: [
    [refusing('PATCH persistentvolumeclaims/status', FORBIDDEN, { containing: 'ControllerResizeError' }), raised()],
  ],
})
row('a driver that returns capacity 0 leads to an event, and the volume keeps its size', {
  differs: ['size-of-zero'],
  setup: { args: ONCE, answers: { ControllerExpandVolume: [{ reply: { capacityBytes: 0n } }] } },
  steps: [raised()],
})

const rowAgain = resizerRows('resize again', import.meta.filename)

/** A driver that refuses more than 2 GiB with this code. */
const upTo2Gi =
  (code: number) =>
  ({ request }: Call): DriverReply =>
    requiredBytes(request) > 2 * GI ? failure(code, 'too big') : OK
for (const [label, code] of [
  ['an infeasible size', 11],
  ['a final error', 13],
] as const) {
  rowAgain(`a smaller requested size is tried at once after ${label}`, {
    setup: { args: ONCE, answers: { ControllerExpandVolume: [upTo2Gi(code)] } },
    steps: [raised({ to: '5Gi' }), asked('2Gi')],
  })
}
rowAgain('a change of labels does not cause a call for an infeasible claim', {
  setup: { args: ONCE, answers: { ControllerExpandVolume: [failure(3)] } },
  steps: [raised(), edited('change the labels of the claim', { metadata: { labels: { a: 'b' } } })],
})

// Without an edit, the Go sidecar may repeat a conflicting write without end.
rowAgain('a smaller requested size waits while the expansion to the earlier size may be running', {
  setup: {
    args: ['--retry-interval-start=2s', '--retry-interval-max=2s'],
    answers: { ControllerExpandVolume: [failure(10, 'busy')] },
  },
  steps: [
    raised({ to: '5Gi' }),
    asked('2Gi'),
    [
      answering({ ControllerExpandVolume: [OK] }),
      edited('change the labels of the claim', { metadata: { labels: { a: 'b' } } }),
    ],
  ],
})

const again = testsOf('resizer', 'resize again')

/** Returns the milliseconds between the starts of the calls. */
function gapsOf(at: ResizerScene): readonly number[] {
  const starts = expands(at).map(({ start }) => start)
  return starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
}

again('the backoff grows with each failed expansion to the same size', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=2s'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  await raisedNow(t)
  await eventually('tries', () => expands(at).length >= 6)
  const gaps = gapsOf(at)
  const isLong = (gap: number, index: number): boolean => gap >= Math.min(500 * 2 ** index, 2000) * 0.9
  if (t.ours) ok(gaps.every(isLong), `gaps ${gaps}`)
  // The Go sidecar often repeats the first try at once.
  else ok(gaps.filter((gap) => gap > 300).length >= 3, `gaps ${gaps}`)
})

again('an expansion to an infeasible size is retried once in each --retry-interval-max', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=2s'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raisedNow(t)
  // A sidecar may notice only at the second try that a claim is infeasible, and the Go sidecar only at the third.
  const quick = t.ours ? 1 : 2
  await eventually('late tries', () => expands(at).length >= quick + 2)
  const gaps = gapsOf(at)
  ok(
    gaps.slice(quick).every((gap) => gap >= 1_000),
    `gaps ${gaps}`,
  )
})

const INFEASIBLE_SIZE = { code: 3, message: 'no' }

again('an infeasible claim is tried once at the start of the resizer, and then rarely', async (t) => {
  const args = ['--retry-interval-start=100ms', '--retry-interval-max=60s']
  const at = await scene(t, { args })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raisedNow(t)
  await untilClaim(t, (each) => statusWord(each) === 'ControllerResizeInfeasible')
  const before = (await triesBeforeOthers(t, at, INFEASIBLE_SIZE)).length
  await at.resizer.endBy('SIGKILL')
  await t.sidecar({ driver: at.driver, args })
  await eventually('one try', () => expands(at).length > before)
  const tries = (await triesBeforeOthers(t, at, INFEASIBLE_SIZE)).length - before
  ok(tries <= (t.ours ? 1 : 2), `${tries} tries`)
})

again('two simultaneous changes of a claim cause one call, which is retried later', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=1h'] })
  at.driver.on('ControllerExpandVolume', ({ request }) =>
    requiredBytes(request) > 2 * GI ? { code: 14, message: 'busy' } : { reply: {} },
  )
  await createBoundClaim(t)
  at.resizer.signal('SIGSTOP')
  await ask(t, '2Gi')
  await ask(t, '3Gi')
  const { metadata } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: t.name('pvc') })
  const { uid = '', resourceVersion = '0' } = metadata ?? {}
  await eventually('both events on the connection', () =>
    at.resizer.gate.delivered('persistentvolumeclaims', uid, BigInt(resourceVersion)),
  )
  at.resizer.signal('SIGCONT')
  await eventually('a call', () => expands(at).length > 0)
  await afterLaterWork(t, at)
  const calls = expands(at).filter(({ request }) => request['volume_id'] === `${t.name('pv')}-handle`)
  equal(
    calls.map(({ request }) => Number(requiredBytes(request)) / GI),
    [3],
  )
})
