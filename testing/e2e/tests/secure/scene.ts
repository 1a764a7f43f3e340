import { deepStrictEqual as equal } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PolicyRule } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { Issued } from '@csi-sidecars/testkit'
import type { User } from '../../harness/api/cluster.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { eventually } from '../../harness/waiting.ts'

/** The permissions of the chart for --authorize-metrics. */
const REVIEWS: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
]

/** Files that a sidecar reads and a test replaces. */
export interface Files {
  readonly args: readonly string[]
  pair(pair: Issued): void
  ca(text: string): void
}

export function files(t: TestContext, pair: Issued, ca?: string): Files {
  const write = (name: string, text: string): string => {
    const file = join(t.folder, name)
    writeFileSync(file, text)
    return file
  }
  const writePair = ({ cert, key }: Issued): string[] => [
    `--tls-cert-file=${write('tls.crt', cert)}`,
    `--tls-private-key-file=${write('tls.key', key)}`,
  ]
  return {
    args: [...writePair(pair), ...(ca === undefined ? [] : [`--client-ca-file=${write('client-ca.crt', ca)}`])],
    pair: (another) => void writePair(another),
    ca: (text) => void write('client-ca.crt', text),
  }
}

/** A sidecar whose endpoint speaks TLS. */
export async function secured(
  t: TestContext,
  args: readonly string[],
  setup: Partial<SidecarSetup> = {},
): Promise<RunningSidecar> {
  const driver = setup.driver ?? (await t.fullDriver())
  const sidecar = await t.sidecar({ ...setup, driver, args })
  const probe = new Scraper({ port: sidecar.port })
  await eventually('an HTTPS server', async () => (await probe.code('/readyz')) === 200)
  return sidecar
}

/** Arguments that are refused with one line, which is returned, and exit code 1. */
export async function refusedIn(t: TestContext, args: readonly string[]): Promise<string> {
  const { code, lines } = await t.exec(args)
  const errors = lines.filter((line) => !line.startsWith('I'))
  equal([code, errors.length], [1, 1], lines.join('\n'))
  return errors[0] ?? ''
}

/** A user for a sidecar that may also create reviews. */
export function reviewer(t: TestContext): Promise<User> {
  return userWith(t, [...FACTS[t.app].rules, ...REVIEWS], 'reviewer')
}
