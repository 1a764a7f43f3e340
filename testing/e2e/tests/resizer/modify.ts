import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { hold, refusal } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { answering, failure, killed, OK, refusing, secretCreated, waiting } from '../../rows/actions.ts'
import { boundClaim, requestedClass, resizerRows, started } from '../../rows/resizer/rows.ts'
import {
  conditionsOf,
  editClaim,
  expands,
  grown,
  modifiedClaim,
  modifies,
  modify,
  resized,
  scene,
  startModification,
  untilState,
  want,
  warningsOf,
} from '../../rows/resizer/scene.ts'

const row = resizerRows('modify', import.meta.filename)
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const MODIFIES = { controller: ['MODIFY_VOLUME' as const] }
const MODIFIES_ONCE = { ...MODIFIES, args: ONCE }
const REFUSES = { ControllerModifyVolume: [failure(3, 'no such tier')] }

row('a modification patches the claim, calls the driver, patches volume and claim, and records events', {
  setup: MODIFIES,
  logs: ['"VolumeAttributesClass v1 API is available"'],
  steps: [boundClaim(), requestedClass('gold')],
})
row('--extra-modify-metadata adds the names of claim and volume to the request', {
  setup: { ...MODIFIES, args: ['--extra-modify-metadata'] },
  steps: [boundClaim(), requestedClass('gold')],
})

const SECRET_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-'
row('a modification sends the Secret in the annotations of the PV, and without annotations the Secret for expansions', {
  setup: MODIFIES,
  steps: [
    secretCreated({ which: 'modify' }, 'modify-secret'),
    secretCreated({ which: 'expand' }, 'expand-secret'),
    boundClaim((t) => ({
      pv: { csi: { controllerExpandSecretRef: { name: t.name('expand-secret'), namespace: t.namespace } } },
    })),
    boundClaim((t) => ({
      suffix: '-b',
      pv: {
        csi: { controllerExpandSecretRef: { name: t.name('expand-secret'), namespace: t.namespace } },
        metadata: {
          annotations: {
            [`${SECRET_ANNOTATION}name`]: t.name('modify-secret'),
            [`${SECRET_ANNOTATION}namespace`]: t.namespace,
          },
        },
      },
    })),
    requestedClass('gold'),
    requestedClass('gold', '-b'),
  ],
})
row('a missing VolumeAttributesClass leads to the status Pending and an event, until the user requests another class', {
  setup: MODIFIES_ONCE,
  steps: [boundClaim(), requestedClass('platinum'), requestedClass('gold')],
})
row('a volume of another driver is not modified', {
  setup: MODIFIES,
  steps: [boundClaim({ pv: { csi: { driver: 'other.example.com' } } }), requestedClass('gold')],
})
row('no volume is modified if the feature gate VolumeAttributesClass is off', {
  setup: { controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'], args: ['--feature-gates=VolumeAttributesClass=false'] },
  steps: [boundClaim(), requestedClass('gold')],
})
row('a modification with a missing secret stays in progress', {
  setup: MODIFIES_ONCE,
  logs: ['cannot get error status from modify volume err'],
  differs: ['event-of-missing-modify-secret'],
  steps: [
    boundClaim((t) => ({
      pv: { csi: { controllerExpandSecretRef: { name: t.name('no'), namespace: 'default' } } },
    })),
    requestedClass('gold'),
  ],
})
row('InvalidArgument leads to the status Infeasible, two conditions and an event, until another class is requested', {
  setup: { ...MODIFIES_ONCE, answers: REFUSES },
  steps: [boundClaim(), requestedClass('gold'), requestedClass('silver')],
})
row('a modification that fails stays in progress, and a successful retry removes the conditions', {
  setup: { ...MODIFIES, args: ['--retry-interval-start=500ms', '--retry-interval-max=500ms'] },
  steps: [5, 11, 13, 9].map((code) => [
    answering({ ControllerModifyVolume: [failure(code, 'why'), failure(code, 'why'), OK] }),
    boundClaim({ suffix: `-${code}` }),
    requestedClass('gold', `-${code}`),
  ]),
})
row('an error of the driver without a message leads to a condition with a reason and no message', {
  setup: { ...MODIFIES_ONCE, answers: { ControllerModifyVolume: [failure(13, '')] } },
  steps: [boundClaim(), requestedClass('gold')],
})
row('an infeasible modification ends when the user withdraws the request', {
  setup: { ...MODIFIES_ONCE, answers: REFUSES },
  steps: [boundClaim(), requestedClass('gold'), requestedClass(null)],
})
row('a restarted resizer completes the modification in progress before it applies a newer class', {
  setup: { ...MODIFIES, answers: { ControllerModifyVolume: ['hang', OK] } },
  steps: [boundClaim(), requestedClass('gold'), killed, requestedClass('silver'), started],
})
row('a modification is retried with another driver call if the PersistentVolume cannot be patched', {
  setup: { ...MODIFIES, args: ['--retry-interval-start=300ms'] },
  steps: [
    boundClaim(),
    [
      refusing('PATCH persistentvolumes', refusal(403, 'Forbidden', 'persistentvolumes "x" is forbidden: no'), {
        times: 1,
      }),
      requestedClass('gold'),
    ],
  ],
})
row('the driver is called again if the user returns from an infeasible class to the current class', {
  setup: MODIFIES_ONCE,
  steps: [
    boundClaim(),
    requestedClass('silver'),
    [answering(REFUSES), requestedClass('gold')],
    [answering({ ControllerModifyVolume: [OK] }), requestedClass('silver')],
  ],
})

row('a second VolumeAttributesClass is not applied while the modification to the first class may still run', {
  setup: {
    ...MODIFIES,
    args: ['--retry-interval-start=2s', '--retry-interval-max=2s'],
    answers: { ControllerModifyVolume: [failure(10, 'busy')] },
  },
  steps: [
    boundClaim(),
    requestedClass('gold'),
    requestedClass('silver'),
    [answering({ ControllerModifyVolume: [OK] }), waiting],
  ],
})

const test = testsOf('resizer', 'modify')

for (const [args, seconds] of [
  [[], 10],
  [['--modify-timeout=33s'], 33],
  [['--timeout=44s'], 44],
  [['--timeout=44s', '--modify-timeout=33s'], 44],
] as const) {
  test(`the deadline of a modification with ${args.join(' ') || 'no flag'} is ${seconds} s`, async (t) => {
    const at = await startModification(t, { args })
    await modify(t, 'gold')
    const { timeoutMs = 0 } = modifies(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}

test('volumes are expanded but not modified if the API server lacks VolumeAttributesClasses', async (t) => {
  const driver = await t.driver({ controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const gate = await t.gate()
  const body = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'storage.k8s.io/v1', resources: [] }
  gate.rules.push(({ path }) => (path === '/apis/storage.k8s.io/v1' ? { kind: 'answer', code: 200, body } : undefined))
  const at = await scene(t, { driver, gate })
  await at.resizer.line(
    'Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available',
  )
  await grown(t)
  equal(at.resizer.gate.requestsOf('volumeattributesclasses'), [])
})

test('a new size and a new class in one edit cause an expansion and a modification', async (t) => {
  const at = await startModification(t, { controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const resources = { requests: { storage: '2Gi' } }
  await editClaim(t, { spec: { volumeAttributesClassName: t.name('gold'), resources } })
  if (t.ours) {
    await modifiedClaim(t, t.name('gold'))
    equal(conditionsOf(await resized(t, '2Gi')), [])
    const [expand] = expands(at)
    const [modify] = modifies(at)
    ok(Math.abs((expand?.start ?? 0) - (modify?.start ?? Infinity)) < 2000, 'back to back')
    const codes = (await at.resizer.gate.settledWrites()).map(({ code }) => code)
    equal([...new Set(codes)], [200], 'no conflicts of our own making')
    equal(await warningsOf(t), [])
    return
  }
  // The Go sidecars may repeat conflicting patches without end, but they make both calls.
  await eventually('both calls', () => modifies(at).length > 0 && expands(at).length > 0)
})

test('conditions and annotations that other writers add during a modification stay', { only: 'ours' }, async (t) => {
  const blocked = hold()
  // The claim starts without annotations and conditions: a wrong patch would then remove a whole map or list.
  const at = await startModification(t)
  at.resizer.gate.inject('PATCH persistentvolumeclaims/status', blocked.fault, {
    where: ({ bytes }) => bytes.includes('currentVolume'),
  })
  await want(t, t.name('gold'))
  await eventually('the call', () => modifies(at).length === 1)
  const foreign = { type: 'example.com/Backup', status: 'True', lastTransitionTime: new Date(0).toISOString() }
  const body = { metadata: { annotations: { mine: 'x' } }, status: { conditions: [foreign] } }
  const ref = { namespace: 'default', name: t.name('pvc'), subresource: 'status' }
  await t.api.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'strategic', body })
  blocked.release()
  const claim = await modifiedClaim(t, t.name('gold'))
  equal(conditionsOf(claim), ['example.com/Backup=True'])
  equal(claim.metadata?.annotations?.['mine'], 'x')
})

test('an infeasible modification is retried after --retry-interval-max', async (t) => {
  const at = await startModification(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=3s'] })
  at.driver.on('ControllerModifyVolume', { code: 3, message: 'no' })
  await want(t, t.name('gold'))
  await untilState(t, 'Infeasible')
  // The Go sidecar notices only at the next read that the class is infeasible, so its second try may come at once.
  const tries = await eventually('a late retry', () => modifies(at).length >= (t.ours ? 2 : 3) && modifies(at))
  const gap = (tries.at(-1)?.start ?? 0) - (tries.at(-2)?.start ?? 0)
  ok(gap >= 1_500, `retried after ${gap} ms`)
  at.driver.on('ControllerModifyVolume', { reply: {} })
  await modifiedClaim(t, t.name('gold'))
})
