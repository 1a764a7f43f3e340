import { deepStrictEqual as equal, match } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { AppName as App } from '@csi-sidecars/sidecars'
import { makeAuthority } from '@csi-sidecars/testkit'
import { FLAG_TABLES } from '../../../../charts/tools/flag-keys.ts'
import { sectionOf } from '../../../../tools/docs/markdown.ts'
import { ORIGINAL_FLAGS } from '../../../../tools/docs/rollback-table.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { surroundings, work } from '../../rows/work.ts'
import { files, reviewer } from '../secure/tls.ts'

/** Tests the rollback section of docs/migration.md for an installation that sets every flag of our sidecars. */

const root = resolve(import.meta.dirname, '../../../..')
const authority = makeAuthority('ca')

/** Returns the flags that docs/migration.md says to remove before a rollback. */
function toRemove(app: App): ReadonlySet<string> {
  const section = sectionOf(readFileSync(join(root, 'docs/migration.md'), 'utf8'), 'rollback-flags') ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| all |') || line.startsWith(`| ${app} |`))
  return new Set(rows.flatMap((row) => [...row.matchAll(/`--([\w-]+)`/g)].map(([, name = '']) => name)))
}

/** Returns arguments that set every flag that the Go sidecar lacks. The values differ from the defaults if possible. */
function argsOfOurs(t: TestContext, app: App): readonly string[] {
  const table = FLAG_TABLES[app]
  const names = table.flatMap(({ name, aliases = [] }) => [name, ...aliases])
  const fixed = [
    ...files(t, authority.server('endpoint'), authority.cert).args,
    // The value is `false`, because a self-signed certificate would contradict the certificate files above.
    '--tls-self-signed=false',
    '--tls-cipher-suites=ECDHE-ECDSA-AES128-GCM-SHA256,ECDHE-RSA-AES128-GCM-SHA256',
    '--tls-min-version=VersionTLS12',
    '--authorization-always-allow-paths=/livez,/readyz',
    // The Go sidecar needs leader election, which node deployment excludes. So the test does not enable node deployment.
    ...(app === 'resizer' ? ['--node-deployment=false', '--node-name='] : []),
    '--on-driver-loss=exit',
    '--on-lease-loss=exit',
  ]
  const isGiven = (name: string): boolean => fixed.some((argument) => argument.startsWith(`--${name}=`))
  const ours = names.filter((name) => !(ORIGINAL_FLAGS[app] ?? []).includes(name) && !isGiven(name))
  return [...fixed, ...ours.map((name) => `--${name}=${otherValue(table, name)}`)]
}

function otherValue(table: (typeof FLAG_TABLES)[App], name: string): string {
  const flag = table.find((each) => each.name === name || each.aliases?.includes(name) === true)
  if (flag?.type === 'bool' || flag?.type === 'switch') return 'true'
  if (flag?.type === 'int' || flag?.type === 'uint') return '5'
  if (flag?.type === 'duration') return '20s'
  throw new Error(`give --${name} a value that is valid beside the others`)
}

for (const app of ['attacher', 'resizer'] as const) {
  testsOf(app, 'rollback')(
    'an installation with every flag of our sidecar works with the Go sidecar after the documented flags are removed',
    { only: 'ours', notOne: true, target: 'real' },
    async (t) => {
      const driver = await t.fullDriver()
      await surroundings(t)
      const gates = app === 'resizer' ? ['--feature-gates=RecoverVolumeExpansionFailure=true'] : []
      const leads = ['--leader-election', `--leader-election-namespace=${t.namespace}`, '--timeout=1m']
      const args = [...leads, ...gates, ...argsOfOurs(t, app)]
      const user = await reviewer(t)
      const ours = await t.sidecar({ driver, user, args })
      await ours.line('became leader, starting')
      await work(t, { suffix: '1', within: 40_000 })
      equal((await ours.endBy('SIGTERM')).code, 0)

      const binary = t.original(app)
      const tooMany = await t.sidecar({ driver, user, binary, args })
      equal((await tooMany.end()).code, 2)
      match(tooMany.stderr, /^flag provided but not defined/)

      const removedFlags = toRemove(app)
      const kept = args.filter((argument) => {
        const name = /^--([\w-]+)/.exec(argument)?.[1] ?? ''
        return !removedFlags.has(name) && !gates.includes(argument)
      })
      equal(kept, leads)
      const original = await t.sidecar({ driver, user, binary, args: kept })
      await original.line('became leader, starting')
      await work(t, { suffix: '2', within: 40_000 })
    },
  )
}
