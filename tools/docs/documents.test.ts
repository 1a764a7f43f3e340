import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { VENDOR_CHART } from '../../charts/tests/helm.ts'
import { homeOf, registryOf } from '../../images/tools/fill.ts'
import { allCommands, commandsIn, missingIn } from './commands.ts'
import { allDocuments, codeBlocks } from './documents.ts'
import { anchorsOf, brokenLinks, linksIn } from './links.ts'
import { filesNamedIn, missingFiles } from './named-files.ts'
import { ROOT, readText, runtimeSources } from './source-texts.ts'

describe('links', () => {
  it('the links of documents lead to existing targets', () => {
    expect(brokenLinks()).toEqual([])
  })

  it('the check of links in documents ignores links in code', () => {
    expect(linksIn('[`a`](b.md#c) and [d](e) `[x](y)`\n```\n[x](y)\n```\n')).toEqual(['b.md#c', 'e'])
  })

  it('the check of links in documents reports a link whose file or heading is missing', () => {
    const text =
      '# A heading, with `code`\n\n[a](#a-heading-with-code) [b](#no) [c](LICENSE) [d](nowhere.md) [e](https://x y)'
    expect(brokenLinks([{ path: 'README.md', text }])).toEqual(['README.md: #no', 'README.md: nowhere.md'])
    expect(anchorsOf(text)).toEqual(new Set(['a-heading-with-code']))
  })
})

describe('named files', () => {
  it('the files that documents name exist in the repository', () => {
    expect(missingFiles(allDocuments())).toEqual([])
  })

  it('the check of file names in documents ignores code that is not a path', () => {
    const text = '`libs/base` `decide*.ts` `helm lint` `attached: true` `dist/csi-attacher` `a.b`\n```\n`x.ts`\n```\n'
    expect(filesNamedIn(text)).toEqual(['libs/base', 'decide*.ts'])
  })

  it('the paths of files in documents can be relative to the root, to the document, or to any folder', () => {
    const paths = ['libs/a/README.md', 'libs/a/src/b.ts']
    const missing = (text: string): readonly string[] => missingFiles([{ path: 'libs/a/README.md', text }], paths)
    expect(missing('`libs/a/src/b.ts` `src/b.ts` `b.ts` `*.ts` `libs/a/*`')).toEqual([])
    expect(missing('`libs/b` `c.ts` `src/a/b.ts`')).toEqual([
      'libs/a/README.md: libs/b',
      'libs/a/README.md: c.ts',
      'libs/a/README.md: src/a/b.ts',
    ])
  })
})

it('docs/architecture.md names only functions and fields that exist in the code', () => {
  const named = [...readText('docs/architecture.md').matchAll(/`([a-z]+[A-Z][A-Za-z]+)`/g)].map(([, name = '']) => name)
  const sources = runtimeSources()
  expect(named).not.toEqual([])
  expect(named.filter((name) => !sources.includes(name))).toEqual([])
})

describe('named tests', () => {
  const listed = execFileSync(process.execPath, [join(ROOT, 'testing/e2e/main.ts'), '--list'], { encoding: 'utf8' })

  /** Returns the code spans in the last cell of each row of a document's tables. */
  const lastCells = (path: string): readonly string[] =>
    [...readText(path).matchAll(/^\|.*\|([^|]+)\|$/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    )

  it.each(['docs/threat-model.md', 'docs/found-defects.md'])('the tests that %s names exist', (path) => {
    const names = lastCells(path).filter((name) => !name.startsWith('npm '))
    expect(names.length).toBeGreaterThan(8)
    expect(names.filter((name) => !listed.includes(name) && !existsSync(join(ROOT, name)))).toEqual([])
  })
})

describe('the lines from nothing to a volume', () => {
  it('the script of the nightly workflow finds the lines in README.md', () => {
    const script = readText('.github/kind/first-volume.sh')
    const [, heading = ''] = /\^## ([^$]+)\$/.exec(script) ?? []
    const [, rest = ''] = readText('README.md').split(`\n## ${heading}\n`)
    const [block] = codeBlocks(rest)
    expect(block?.language).toBe('sh')
    expect(block?.text).toMatch(/^npm ci.*\nkind create cluster.*\nkubectl wait [^\n]*\n$/s)
  })
})

describe('versions', () => {
  const { version } = JSON.parse(readText('apps/attacher/package.json')) as { version: string }

  it('the version in documents equals the version of the sidecars (npm run version-packages)', () => {
    const ours =
      /ghcr\.io\/\S+:v(\d[^\s`]*)|--version (\S+)|newTag: v(\S+)|^ {4}version: (\S+)|csi-driver-test-(\d\S*)\.tgz/gm
    const found = ['README.md', 'docs/drivers.md', 'docs/driver-test.md', 'docs/migration.md'].flatMap((path) =>
      [...readText(path).matchAll(ours)].map((groups) => [path, groups.slice(1).find((each) => each !== undefined)]),
    )
    expect(found.length).toBeGreaterThan(15)
    expect(found.filter(([, each]) => each !== version)).toEqual([])
  })
})

describe('commands', () => {
  const commands = allCommands()

  it('the folders, scripts, files and values files in the commands of documents exist', () => {
    const missing = commands.flatMap(({ path, line }) => missingIn(line).map((name) => [path, line, name]))
    expect(missing).toEqual([])
  })

  it('kubectl commands appear only in documents whose commands tests run', () => {
    const kubectl = commands.filter(({ line }) => line.startsWith('kubectl'))
    expect(new Set(kubectl.map(({ path }) => path))).toEqual(
      new Set(['README.md', 'docs/migration.md', 'docs/operations.md']),
    )
  })

  it.each([
    ['README.md', 'testing/node/runs/documents.ts'],
    ['README.md', '.github/kind/first-volume.sh'],
    ['docs/migration.md', 'testing/node/runs/documents.ts'],
    ['docs/operations.md', 'testing/node/runs/documents.ts'],
    ['docs/operations.md', 'testing/e2e/tests/explain/cluster.ts'],
    ['docs/driver-test.md', 'testing/e2e/tests/ground/documents.ts'],
    ['CONTRIBUTING.md', 'testing/e2e/tests/ground/documents.ts'],
  ])('commands of %s are run by %s', (document, by) => {
    expect(readText(by)).toContain(document)
  })

  it('the commands of a document include commands in fenced blocks, in indented blocks and in code spans', () => {
    const text =
      'a `npm start` b\n\n    npm ci && npm test   # all\n    cd libs/x\n\n```sh\nhelm lint a \\\n  b\n# no\n```\n```yaml\na: b\n```\n'
    expect(commandsIn({ path: 'x', text }).map(({ line }) => line)).toEqual([
      'helm lint a b',
      'npm ci && npm test',
      'cd libs/x',
      'npm start',
    ])
  })

  it.each([
    ['npm run nothing', 'nothing'],
    ['npm ci && npm nothing', 'nothing'],
    ['npm exec -- node tools/nothing.ts', 'tools/nothing.ts'],
    ['cd nowhere && npm test', join(ROOT, 'nowhere')],
    ['cd libs/workqueue && npm run e2e', 'e2e'],
    ['helm upgrade --install example --values nothing.yaml', 'nothing'],
  ])('the check of commands in documents reports a missing part: %s', (line, part) => {
    expect(missingIn(line)).toEqual([part])
  })
})

describe('docs/drivers.md', () => {
  const blocks = codeBlocks(readText('docs/drivers.md'))

  it('docs/drivers.md contains valid YAML', () => {
    const plain = blocks.filter(({ language, text }) => language === 'yaml' && !text.includes('{{'))
    expect(plain).toHaveLength(4)
    for (const { text } of plain) expect(() => load(text)).not.toThrow()
  })

  it('docs/drivers.md contains a kustomization that replaces both images', () => {
    const kustomization = blocks.find(({ text }) => text.includes('kind: Kustomization'))?.text ?? ''
    const registry = registryOf(homeOf(ROOT))
    expect(load(kustomization)).toMatchObject({
      images: ['csi-attacher', 'csi-resizer'].map((name) => ({
        name: `registry.k8s.io/sig-storage/${name}`,
        newName: `${registry}/${name}`,
      })),
    })
  })

  it("docs/drivers.md includes the same templates as the vendor's example chart", () => {
    const chart = readFileSync(join(VENDOR_CHART, 'templates/controller.yaml'), 'utf8')
    const lines = (text: string): string[] => text.split('\n').map((line) => line.trim())
    const block = blocks.find(({ text }) => text.includes('csi-sidecars.container'))?.text ?? ''
    const includes = lines(block).filter((line) => line.includes('include') || line.includes(':='))
    expect(includes).not.toEqual([])
    for (const line of includes) expect(lines(chart).map(unindented)).toContain(unindented(line))
  })

  it('docs/driver-test.md lists exactly the requirements of the driver test', () => {
    const titles = [...readText('desk/driver-test/src/checks/checks.ts').matchAll(/^ {2}\w+: '([A-Z][^']+)',$/gm)]
    const [, section = ''] = readText('docs/driver-test.md').split('\n## Requirements\n')
    const rows = [...section.matchAll(/^- \*\*(.+?)\.?\*\*/gm)].map(([, title]) => title)
    expect(rows.toSorted()).toEqual(titles.map(([, title]) => title).toSorted())
    expect(rows.length).toBeGreaterThan(20)
  })

  it('docs/drivers.md names only templates that the chart defines', () => {
    const named = [...readText('docs/drivers.md').matchAll(/\| `(csi-sidecars\.\w+)` \|/g)].map(([, name = '']) => name)
    const all = ['names', 'args', 'container', 'rules', 'checks']
      .map((part) => readText(`charts/csi-sidecars/templates/_${part}.tpl`))
      .join('\n')
    for (const name of named) expect(all).toContain(`define "${name}"`)
  })
})

/** Removes the number of an `nindent`, because it depends on the indentation of the line. */
function unindented(line: string): string {
  return line.replace(/nindent \d+/, 'nindent')
}

it('no document contains TODO, FIXME or filler text', () => {
  const found = allDocuments().filter(({ text }) => /\bTODO\b|\bFIXME\b|lorem ipsum/i.test(text))
  expect(found.map(({ path }) => path)).toEqual([])
})
