import { APPS } from '@csi-sidecars/sidecars'
import { describe, expect, it } from '@jest/globals'
import { sectionNames, sectionOf, table, withSection } from './markdown.ts'
import { CAPACITY_GAUGES } from './monitoring-tables.ts'
import { DOCUMENTS, SECTIONS, sectionText, withMissingSections } from './sections.ts'
import { errorMessages, eventReasons, readText, runtimeSources, startMessages } from './source-texts.ts'

const sources = runtimeSources()

/** Returns the texts in the first column of the table below a heading of docs/reference.md. */
function firstColumn(heading: string): readonly string[] {
  const [, below = ''] = readText('docs/reference.md').split(`\n${heading}\n`)
  const [rows = ''] = /(?:^\|.*\n)+/m.exec(below) ?? []
  return [...rows.matchAll(/^\| `(.*?)` \|/gm)].map(([, text = '']) => text)
}

/** Returns a message as the documents show it: without backticks, and with `...` in place of values. */
function asShown(message: string): string {
  return message.replaceAll('`', "'").replace(/\$\{[^}]*\}/g, '...')
}

/** Lines of the log as the documents show them, and the literals of which the sources build them. */
const COMPOSED_LINES: readonly (readonly [string, ...string[]])[] = [
  [
    '"..." is deprecated and will be removed in a future release, please use "..." instead',
    'is deprecated and will be removed in a future release',
    ', please use "',
  ],
  [
    'requested volume size ... is greater than the size ... for the source snapshot .... Volume plugin needs to handle volume expansion.',
    'is greater than the size',
    'Volume plugin needs to handle volume expansion.',
  ],
  [
    'VolumeGroupSnapshot CRDs were not found; disabling the VolumeGroupSnapshot feature for this run. Install the VolumeGroupSnapshot CRDs to use this feature: ...',
    'VolumeGroupSnapshot CRDs were not found; disabling the VolumeGroupSnapshot feature for this run',
    'Install the VolumeGroupSnapshot CRDs to use this feature',
  ],
  [
    'error determining if driver supports create/delete group snapshot operations: ...',
    'error determining if driver supports create/delete group snapshot operations',
  ],
  [
    'createSnapshot for content [...]: error occurred in createSnapshotWrapper: ...',
    'createSnapshot for content',
    ']: error occurred',
    'createSnapshotWrapper',
  ],
  ['checkandUpdateContentStatus [...]: error occurred ...', 'checkandUpdateContentStatus', ']: error occurred'],
  ['could not sync content "...": ...', 'could not sync '],
]

describe('the generated sections', () => {
  const marked = DOCUMENTS.flatMap((path) => sectionNames(readText(path)).map((name) => ({ path, name })))

  // The section of metrics is checked only on Linux, because a process without /proc has fewer metrics.
  const here = marked.filter(({ name }) => process.platform === 'linux' || name !== 'metrics')

  it.each(here)('section $name in $path matches code (npm exec -- node tools/docs/main.ts)', async ({ path, name }) => {
    expect(sectionOf(readText(path), name)).toBe(await sectionText(name))
  })

  it('each generated section appears exactly once in the documents', () => {
    expect(marked.map(({ name }) => name).sort()).toEqual(Object.keys(SECTIONS).sort())
  })
})

describe('the documentation', () => {
  it('the documentation explains exactly the warnings and error lines that the sidecars can write', () => {
    const inCode = [...errorMessages(sources)].map(asShown)
    const listed = firstColumn('### Warnings and errors of a running sidecar')
    // `errorMessages` does not find these messages, because they are constants in the sources.
    const constants = [
      'Lost connection to CSI driver, exiting',
      'Failed to load the cert/key pair, the one before stays',
      'Failed to load the CA bundle, the one before stays',
      'Failed to make a certificate, the one before stays',
    ]
    for (const message of constants) expect(sources).toContain(message)
    // These messages are put together from several literals, each of which is in the sources.
    const composed = COMPOSED_LINES.map(([line, ...literals]) => {
      for (const part of literals) expect(sources).toContain(part)
      return line
    })
    expect(listed.toSorted()).toEqual([...inCode, ...constants, ...composed].toSorted())
  })

  it('the documentation explains every error line that ends the start of a sidecar', () => {
    const listed = firstColumn('### Lines that end the start')
    // This message has a full stop in the sources, but not in the table.
    const others = ["Only one of '--metrics-address' and '--http-endpoint' can be set."]
    const missing = [...startMessages(sources)]
      .map(asShown)
      .filter((message) => ![...listed, ...others].includes(message))
    expect(missing).toEqual([])
    expect(listed.filter((message) => !asShown(sources).includes(message))).toEqual([])
  })

  it('the documentation explains every event of the sidecars', () => {
    const listed = firstColumn('## Events')
    expect(listed.toSorted()).toEqual([...eventReasons(sources)].toSorted())
  })

  it('the documentation of the alerts quotes only log lines that the sidecars can write', () => {
    const text = readText('charts/csi-sidecars/files/alerts.yaml').replace(/^ *(?:expr|summary): .*$/gm, '')
    const quoted = [...text.matchAll(/[ (]"([A-Z][^"{]+)"/g)].map(([, line = '']) => line)
    expect(quoted).not.toEqual([])
    expect(quoted.filter((line) => !sources.includes(`'${line}`))).toEqual([])
  })

  it('the documentation is right about which log lines of the Go sidecars our sidecars write', () => {
    const [, section = ''] =
      /^### Differences from the lines of the Go sidecars\n(.*?)^## /ms.exec(readText('docs/reference.md')) ?? []
    const rows = [...section.matchAll(/^\| (`.*?) \| (.*) \|$/gm)]
    const messages = rows.flatMap(([, cell = '', says = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => ({
        message,
        written: !/not written|one line/.test(says),
      })),
    )
    expect(messages.length).toBeGreaterThan(8)
    const wrong = messages.filter(({ message, written }) => sources.includes(`'${message}'`) !== written)
    expect(wrong).toEqual([])
  })

  it('the documentation has the gauges of the provisioner about capacity', () => {
    const declared = [...sources.matchAll(/\['(\w+)', (?:'that [^']+'|[A-Z_]+), /g)].map(([, name]) => name)
    expect(CAPACITY_GAUGES.map(({ name }) => name)).toEqual(declared.map((name) => `csistoragecapacities_${name}`))
  })

  it('the documentation names only existing flags', () => {
    const flags = new Set([...sources.matchAll(/name: '([a-z][a-z-]*)'/g)].map(([, name]) => name))
    const ofCommands = ['help', 'previous', 'context', 'older-than', 'registry', 'reset-then-reuse-values']
    // The driver test declares its flags as the keys of a table.
    const table = readText('desk/driver-test/src/options.ts')
    for (const [, name = ''] of table.matchAll(/^ {2}'?([a-z-]+)'?: (?:\{|\w+Flag\()/gm)) flags.add(name)
    // The driver test has a flag for each sidecar. In the combined process flags have the prefix of their sidecar.
    for (const app of [...APPS, 'provisioner', 'snapshotter']) {
      flags.add(app)
      for (const [, name = ''] of readText(`apps/${app}/src/flags.ts`).matchAll(/name: '([a-z][a-z-]*)'/g)) {
        flags.add(name).add(`${app}-${name}`)
      }
    }
    const removedFlags = [
      'csiTimeout',
      'enable-leader-election',
      'leader-election-type',
      'enable-volume-group-snapshots',
    ]
    // These flags are in texts about older versions, or in a message of the Go sidecars.
    const ofOthers = ['log_dir', 'logtostderr', 'stderrthreshold', 'capacity-controller-deployment-mode']
    const placeholders = ['flag', 'attacher-X', 'resizer-X', 'provisioner-X', 'snapshotter-X']
    const foreign = [...ofCommands, ...removedFlags, ...ofOthers, ...placeholders, 'enable-node-deployment']
    for (const path of [
      'README.md',
      'docs/operations.md',
      'docs/reference.md',
      'docs/migration.md',
      'docs/drivers.md',
      'docs/driver-test.md',
      'docs/architecture.md',
      'SECURITY.md',
    ]) {
      const named = [...readText(path).matchAll(/`(?:[^`\n]*\s)?--(?:livenessprobe-)?([a-z][\w-]*)[^`\n]*`/g)].map(
        ([, name = '']) => name,
      )
      expect([path, named.filter((name) => !flags.has(name) && !foreign.includes(name))]).toEqual([path, []])
    }
  })
})

describe('withSection', () => {
  const document =
    'a\n\n<!-- made from the code: x -->\n\nold\n\n<!-- end -->\n\n<!-- made from the code: y -->\n\n<!-- end -->\n'

  it('a generated section can be read by its name', () => {
    expect(sectionNames(document)).toEqual(['x', 'y'])
    expect(sectionOf(document, 'x')).toBe('old')
    expect(sectionOf(document, 'y')).toBe('')
    expect(sectionOf(document, 'z')).toBeUndefined()
  })

  it('a generated section can be replaced without changing the other sections', () => {
    const after = withSection(document, 'y', '$1 new')
    expect([sectionOf(after, 'x'), sectionOf(after, 'y')]).toEqual(['old', '$1 new'])
    expect(withSection(after, 'y', '$1 new')).toBe(after)
  })

  it('a generated section causes an error if the document lacks it', () => {
    expect(() => withSection(document, 'z', '')).toThrow('no section z')
  })

  it('the generated section of a new sidecar is added after the section of the previous sidecar', () => {
    const path = 'docs/reference.md'
    const complete = readText(path)
    const without = complete.replace(/\n\n### Flags of the snapshotter\n\n<!-- made(?:.|\n)*?<!-- end -->/, '')
    const made = withMissingSections(without)
    expect(sectionNames(made)).toEqual(sectionNames(complete))
    expect(made).toContain('### Flags of the snapshotter\n\n<!-- made from the code: snapshotter-flags -->')
    expect(withMissingSections(complete)).toBe(complete)
    expect(withMissingSections('no sidecar')).toBe('no sidecar')
  })

  it('a generated section can be a table whose cells contain pipes', () => {
    expect(table(['a', 'b'], [['1|2', '']])).toBe('| a | b |\n|---|---|\n| 1\\|2 |  |')
  })
})
