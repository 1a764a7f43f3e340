import { deepStrictEqual as equal, match } from 'node:assert'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryLimit } from '../../harness/process/memory-limit.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'

const WARNING = 'The memory limit is too low'

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'start', { only: 'ours' })

  test('variables that Node.js reads before any script have no effect', async (t) => {
    const config = join(t.folder, 'bad.cnf')
    writeFileSync(config, 'no equal sign\n')
    const coverage = join(t.folder, 'coverage')
    const driver = await t.fullDriver()
    const env = { NODE_V8_COVERAGE: coverage, OPENSSL_CONF: config, NODE_OPTIONS: '--no-such-option' }
    const sidecar = await t.sidecar({ driver, env })
    await sidecar.line('ServeMux listening')
    equal((await sidecar.endBy('SIGTERM')).code, 0)
    equal(existsSync(coverage), false)
  })

  for (const [mib, warns] of [
    [64, true],
    [128, false],
  ] as const) {
    const title = `a memory limit of ${mib} MiB is ${warns ? 'warned of in one line' : 'enough'}`
    // The test checks nothing if the user cannot create a control group.
    test(title, { notOne: true }, async (t) => {
      const name = t.name(`memory-${mib}`)
      const limit = memoryLimit(mib, { name, program: t.executable(), folder: t.folder })
      if (limit === undefined) return
      const driver = await t.fullDriver()
      const sidecar = await t.sidecar({ driver, binary: limit.binary })
      await sidecar.line('ServeMux listening')
      const warnings = sidecar.linesWith(WARNING)
      equal(warnings.length, warns ? 1 : 0)
      if (warns) match(warnings[0] ?? '', /^W.* limit="64Mi" needed="80Mi" neededPerThousandObjects="2Mi"$/)
      await sidecar.endBy('SIGKILL')
      await eventually('the end of the control group', () => {
        limit.remove()
        return true
      })
    })
  }
}
