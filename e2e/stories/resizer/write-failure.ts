import { deepStrictEqual as equal, ok } from 'node:assert'
import { storiesOf } from '../../harness/story.ts'
import { pause } from '../../harness/waiting.ts'
import { WAYS_TO_FAIL } from '../../harness/ways-to-fail.ts'
import type { WireRequest } from '../../harness/wire.ts'
import { ask, bound, conditionsOf, expands, getVolume, resized, scene, statusWord } from './scene.ts'

const story = storiesOf('resizer', 'writes that fail')

const ways = Object.keys(WAYS_TO_FAIL)

const writes: Readonly<Record<string, (request: WireRequest, nth: number) => boolean>> = {
  'the mark of the beginning': ({ resource }, nth) => resource === 'persistentvolumeclaims/status' && nth === 0,
  'the capacity of the volume': ({ resource }) => resource === 'persistentvolumes',
  'the end of the expansion': ({ resource }, nth) => resource === 'persistentvolumeclaims/status' && nth === 1,
}

for (const [what, isMeant] of Object.entries(writes)) {
  story(`${what}, once in every way: resized in the end`, async (t) => {
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
      return WAYS_TO_FAIL[way]
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
