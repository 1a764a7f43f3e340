import { deepStrictEqual as equal, ok } from 'node:assert'
import type { WireRequest } from '../../harness/api/wire.ts'
import { WRITE_FAULTS } from '../../harness/api/write-faults.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { ask, bound, conditionsOf, expands, getVolume, resized, scene, statusWord } from './scene.ts'

const test = testsOf('resizer', 'writes that fail')

const ways = Object.keys(WRITE_FAULTS)

const writes: Readonly<Record<string, (request: WireRequest, nth: number) => boolean>> = {
  'the mark of the beginning': ({ resource }, nth) => resource === 'persistentvolumeclaims/status' && nth === 0,
  'the capacity of the volume': ({ resource }) => resource === 'persistentvolumes',
  'the end of the expansion': ({ resource }, nth) => resource === 'persistentvolumeclaims/status' && nth === 1,
}

for (const [what, isMeant] of Object.entries(writes)) {
  test(`${what}, each write fault once: resized in the end`, async (t) => {
    const at = await scene(t, { args: ['--retry-interval-start=200ms'] })
    const left = new Set(ways)
    const seen = new Map<string, number>()
    at.resizer.gate.rules.push((request) => {
      const { method, name = '', resource } = request
      const way = name.slice(name.indexOf('-', t.id.length + 1) + 1)
      if (method !== 'PATCH' || !name.startsWith(`${t.id}-`) || !left.has(way)) return undefined
      const nth = seen.get(`${resource} ${way}`) ?? 0
      seen.set(`${resource} ${way}`, nth + 1)
      if (!isMeant(request, nth)) return undefined
      left.delete(way)
      return WRITE_FAULTS[way]
    })
    for (const way of ways) await bound(t, { suffix: `-${way}` })
    await pause(200)
    for (const way of ways) await ask(t, '2Gi', t.name(`pvc-${way}`))
    for (const way of ways) {
      const claim = await resized(t, '2Gi', t.name(`pvc-${way}`))
      equal([conditionsOf(claim), statusWord(claim)], [[], undefined], way)
      equal((await getVolume(t, t.name(`pv-${way}`))).spec?.capacity, { storage: '2Gi' })
      const calls = expands(at).filter(({ request }) => request['volume_id'] === t.name(`pv-${way}-handle`))
      if (t.ours) ok(calls.length <= 2, `${way}: ${calls.length} calls`)
    }
    equal([...left], [])
  })
}
