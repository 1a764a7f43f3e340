import { ok } from 'node:assert'
import type { Call } from '../../harness/driver.ts'
import { storiesOf } from '../../harness/story.ts'
import { eventually } from '../../harness/waiting.ts'
import { ask, bound, expands, requiredBytes, resized, scene } from './scene.ts'

const story = storiesOf('resizer', 'holding up')

/** Ten workers, and as many again that wait for one. */
const BAD = 20

story('calls that hang again and again leave workers to others', { only: 'ours', long: 'real' }, async (t) => {
  const isBad = ({ request }: Pick<Call, 'request'>): boolean => String(request['volume_id']).includes('-bad')
  const at = await scene(t, { args: ['--timeout=5s', '--retry-interval-start=100ms', '--retry-interval-max=200ms'] })
  at.driver.on('ControllerExpandVolume', (call) =>
    isBad(call)
      ? 'hang'
      : { reply: { capacityBytes: BigInt(requiredBytes(call.request)), nodeExpansionRequired: false } },
  )
  const bad = await Promise.all(Array.from({ length: BAD }, (_, index) => bound(t, { suffix: `-bad-${index}` })))
  const healthy = await bound(t, { suffix: '-healthy' })
  await Promise.all(bad.map(({ pvc }) => ask(t, '2Gi', pvc)))
  const again = (): boolean => expands(at).filter(isBad).length >= BAD + 10
  await eventually('second tries on all workers', again, { within: 60_000 })
  const began = Date.now()
  await ask(t, '2Gi', healthy.pvc)
  await resized(t, '2Gi', healthy.pvc)
  const after = Date.now() - began
  ok(after < 2500, `the healthy claim had its size after ${after} ms`)
})
