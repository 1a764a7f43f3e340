import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ROOT } from './bundle.ts'

/** Tests of the scripts in .github/release. Fakes replace the programs that need a network. */

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'scripts-'))
  mkdirSync(join(folder, 'bin'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = folder): Ended {
  const PATH = `${join(folder, 'bin')}:${process.env['PATH']}`
  const options = { cwd, env: { PATH, HOME: folder, ...env }, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(join(ROOT, '.github/release', script), args, options)
  return { status, stdout, stderr }
}

function program(name: string, text: string): void {
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`)
  chmodSync(join(folder, 'bin', name), 0o755)
}

const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
const calls = (): string => readFileSync(join(folder, 'calls'), 'utf8')

describe('ready.sh', () => {
  const DIGEST = `@sha256:${'0'.repeat(64)}`
  const repository = (version: string, changesets: readonly string[]): void => {
    mkdirSync(join(folder, 'apps/attacher'), { recursive: true })
    mkdirSync(join(folder, 'images'))
    write('images/Dockerfile', `ARG BASE=example.com/base${DIGEST}\nFROM example.com/node:26${DIGEST} AS official\n`)
    write('images/docker-bake.hcl', `  args = { BASE = "example.com/other:9${DIGEST}" }\n`)
    mkdirSync(join(folder, '.changeset'))
    write('apps/attacher/package.json', JSON.stringify({ version }))
    write('package.json', JSON.stringify({ repository: 'github:a/b' }))
    for (const file of ['README.md', ...changesets]) write(`.changeset/${file}`, '')
  }

  it('`ready.sh` accepts the tag of the current version if no changeset is pending', () => {
    repository('1.2.3', [])
    expect(run('ready.sh', ['v1.2.3', 'a/b'])).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it.each([
    ['another tag', 'v1.2.4', [], 'a/b', 'the tag is v1.2.4, and the version of the sidecars is v1.2.3'],
    ['a pending changeset', 'v1.2.3', ['x.md'], 'a/b', '.changeset/x.md is pending'],
    ['another repository', 'v1.2.3', [], 'a/c', 'name github:a/b: run node images/tools/fill.ts a/c'],
  ])('`ready.sh` refuses %s', (_, tag, changesets, home, message) => {
    repository('1.2.3', changesets)
    const { status, stderr } = run('ready.sh', [tag, home])
    expect(status).toBe(1)
    expect(stderr).toContain(message)
  })

  it('`ready.sh` refuses base images without a digest, and names them', () => {
    repository('1.2.3', [])
    for (const file of ['images/Dockerfile', 'images/docker-bake.hcl']) {
      write(file, readFileSync(join(ROOT, file), 'utf8').replaceAll(/@sha256:\w+/g, ''))
    }
    const { status, stderr } = run('ready.sh', ['v1.2.3', 'a/b'])
    expect(status).toBe(1)
    expect(stderr.match(/[a-z.]+\/[\w/.:-]+/g)).toEqual([
      expect.stringContaining('distroless'),
      expect.stringContaining('library/node'),
      expect.stringContaining('ubi-minimal'),
    ])
  })
})

describe('images.sh', () => {
  const [A, B] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`]
  /** Creates a fake docker. Its registry is a folder in which a file for each tag contains the digest. */
  const docker = (): void => {
    mkdirSync(join(folder, 'tags'))
    program(
      'docker',
      `file() { echo "${folder}/tags/$(echo "$1" | tr /: __)"; }
case "$3" in
  inspect)
    [ ! -e ${folder}/broken ] || { echo "ERROR: 500 Internal Server Error" >&2; exit 1; }
    [ -e "$(file "$4")" ] || { echo "ERROR: $4: not found" >&2; exit 1; }
    cat "$(file "$4")" ;;
  create)
    echo "tag $5" >> ${folder}/calls
    echo "\${6#*@}" > "$(file "$5")" ;;
esac`,
    )
  }
  const tagged = (name: string, digest: string): void => write(`tags/${name.replaceAll(/[/:]/g, '_')}`, `${digest}\n`)
  const METADATA = {
    attacher: { 'containerimage.digest': A },
    'attacher-nonroot': { 'containerimage.digest': B },
    'attacher-ubi': { 'containerimage.digest': B },
    'buildx.build.warnings': [],
  }
  const ROWS = [
    { name: 'r/csi-attacher', digest: A, tag: 'v1.2.3' },
    { name: 'r/csi-attacher', digest: B, tag: 'v1.2.3-nonroot' },
    { name: 'r/csi-attacher', digest: B, tag: 'v1.2.3-ubi' },
  ]
  const list = () => run('images.sh', ['list', 'metadata.json', 'r', 'v1.2.3'])
  const tag = () => run('images.sh', ['tag', 'list.json'])
  beforeEach(() => {
    docker()
    write('metadata.json', JSON.stringify(METADATA))
    write('list.json', JSON.stringify(ROWS))
    write('calls', '')
  })

  it('`images.sh` lists the name, the digest and the tag of each image that `docker buildx bake` has built', () => {
    expect(JSON.parse(list().stdout)).toEqual(ROWS)
  })

  it('`images.sh` lists the digest in the registry for an image that is already tagged', () => {
    tagged('r/csi-attacher:v1.2.3', B)
    expect(JSON.parse(list().stdout)).toEqual([{ ...ROWS[0], digest: B }, ...ROWS.slice(1)])
  })

  it('`images.sh` tags all images, and a second run changes nothing', () => {
    expect(tag()).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(calls()).toBe(ROWS.map((row) => `tag ${row.name}:${row.tag}\n`).join(''))
    write('calls', '')
    expect(tag()).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(calls()).toBe('')
  })

  it('`images.sh` fails without any change if one of the tags exists with another digest', () => {
    tagged('r/csi-attacher:v1.2.3-nonroot', A)
    const { status, stderr } = tag()
    expect(status).toBe(1)
    expect(stderr).toBe(`r/csi-attacher:v1.2.3-nonroot is ${A}, not ${B}: a tag never moves\n`)
    expect(calls()).toBe('')
  })

  it('`images.sh` fails if the registry answers with an error other than "not found"', () => {
    write('broken', '')
    const { status, stderr } = tag()
    expect(status).not.toBe(0)
    expect(stderr).toContain('500 Internal Server Error')
    expect(calls()).toBe('')
    expect(list().status).not.toBe(0)
  })
})

describe('chart.sh', () => {
  const IMAGES = ['csi-attacher', 'csi-resizer', 'csi-sidecars'].flatMap((name, at) =>
    ['', '-nonroot', '-ubi'].map((variant) => ({
      name: `r/${name}`,
      digest: `sha256:${`${at}1`.repeat(32)}`,
      tag: `v1${variant}`,
    })),
  )
  const chart = () => run('chart.sh', ['r', '1.2.3', join(folder, 'images.json'), join(folder, 'out')], {}, ROOT)
  beforeEach(() => {
    write('images.json', JSON.stringify(IMAGES))
    program('node', `exec '${process.execPath}' "$@"`)
  })

  it('`chart.sh` packages the chart with the digests of the images', () => {
    program(
      'helm',
      `[ "$1" = package ] || { echo "Error: r/charts: not found" >&2; exit 1; }
cp "$2/values.yaml" "$4"`,
    )
    expect(chart()).toMatchObject({ status: 0, stderr: '' })
    const values = readFileSync(join(folder, 'out/values.yaml'), 'utf8')
    expect(values).toContain('\n  registry: r')
    expect(values.match(/digest: sha256:\d+/g)).toEqual(
      IMAGES.filter((_, at) => at % 3 === 0).map(({ digest }) => `digest: ${digest}`),
    )
  })

  it('`chart.sh` downloads the chart instead if its version is already published', () => {
    program('helm', `[ "$1" = pull ] && echo "$@" > "$6/archive"`)
    expect(chart().status).toBe(0)
    expect(readFileSync(join(folder, 'out/archive'), 'utf8')).toContain('pull oci://r/charts/csi-sidecars')
  })

  it('`chart.sh` fails if the registry fails', () => {
    program('helm', 'echo "Error: 503" >&2; exit 1')
    expect(chart()).toEqual({ status: 1, stdout: '', stderr: 'Error: 503\n' })
  })
})

describe('preflight.sh', () => {
  const DIGEST = `sha256:${'c'.repeat(64)}`
  const LIST = ['', '-nonroot', '-ubi'].map((variant) => ({
    name: 'r/csi-attacher',
    digest: DIGEST,
    tag: `v1${variant}`,
  }))
  /** Creates a fake preflight that writes the results of two platforms into the folder after `--artifacts`. */
  const preflight = (failed: readonly string[], errors: readonly string[] = []): void => {
    const names = (list: readonly string[]): object[] => list.map((name) => ({ name }))
    write('good.json', JSON.stringify({ passed: true, results: { passed: [], failed: [], errors: [] } }))
    write('results.json', JSON.stringify({ results: { passed: [], failed: names(failed), errors: names(errors) } }))
    program(
      'preflight',
      `echo "$3" >> ${folder}/calls
mkdir -p "$5/amd64" "$5/s390x"
cp ${folder}/good.json "$5/amd64/results.json"
cp ${folder}/results.json "$5/s390x/results.json"`,
    )
  }
  const check = () => run('preflight.sh', ['list.json'])
  beforeEach(() => {
    write('list.json', JSON.stringify(LIST))
    write('calls', '')
  })

  it('`preflight.sh` checks only the images on UBI', () => {
    preflight([])
    expect(check()).toEqual({ status: 0, stdout: `ok   r/csi-attacher@${DIGEST}\n`, stderr: '' })
    expect(calls()).toBe(`r/csi-attacher@${DIGEST}\n`)
  })

  it('`preflight.sh` fails with the names of the checks that failed on any platform', () => {
    preflight(['HasLicense'], ['BasedOnUbi'])
    expect(check()).toEqual({ status: 1, stdout: '', stderr: `r/csi-attacher@${DIGEST}: BasedOnUbi HasLicense\n` })
  })

  it('`preflight.sh` accepts an image without a tag, because a release tags its images last', () => {
    preflight([], ['HasUniqueTag'])
    expect(check().status).toBe(0)
  })

  it('`preflight.sh` fails if preflight ends with an error or writes no results', () => {
    program('preflight', 'echo "no such image" >&2; exit 1')
    expect(check()).toEqual({ status: 1, stdout: '', stderr: 'no such image\n' })
    program('preflight', 'exit 0')
    expect(check().status).toBe(1)
  })

  it('`preflight.sh` fails if the release has no image on UBI', () => {
    write('list.json', JSON.stringify(LIST.slice(0, 2)))
    expect(check()).toEqual({ status: 1, stdout: '', stderr: 'list.json has no image on UBI\n' })
  })
})

describe('late-fixes.sh', () => {
  const DAY = 24 * 3600
  const NOW = Date.UTC(2026, 9, 24, 1) / 1000
  const INDEX = [
    { version: 'v26.12.2', date: '2026-10-24', security: true },
    { version: 'v26.12.1', date: '2026-10-21', security: true },
    { version: 'v26.12.0', date: '2026-10-01', security: false },
    { version: 'v24.22.1', date: '2026-10-21', security: true },
  ]
  const match = (state: string, date: string) => ({
    vulnerability: { id: 'CVE-1', fix: { state, available: [{ version: '2.0', date, kind: 'first-observed' }] } },
    artifact: { name: 'libc6', version: '1.0' },
  })
  const late = (node: string, matches: readonly object[], now = NOW): Ended => {
    write('index.json', JSON.stringify(INDEX))
    write('report.json', JSON.stringify({ matches }))
    return run('late-fixes.sh', [node, 'index.json', 'report.json'], { NOW: String(now) })
  }

  it('`late-fixes.sh` accepts fixes of the last 72 hours, and vulnerabilities without a fix', () => {
    const matches = [match('fixed', '2026-10-22'), match('not-fixed', '2020-01-01')]
    expect(late('v26.12.1', matches)).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(late('v26.12.0', [], NOW - DAY)).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it('`late-fixes.sh` fails if a Node.js release with fixes is older than 72 hours', () => {
    expect(late('v26.9.0', [])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Node.js v26.9.0: v26.12.1 of 2026-10-21 fixes weaknesses\n',
    })
  })

  it('`late-fixes.sh` fails if the fix of a package is older than 72 hours', () => {
    expect(late('v26.12.1', [match('fixed', '2026-10-20')])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'libc6 1.0: 2.0 of 2026-10-20 fixes CVE-1\n',
    })
  })

  it('`late-fixes.sh` fails if a report cannot be read', () => {
    write('index.json', 'no JSON')
    expect(run('late-fixes.sh', ['v26.12.1', 'index.json'], { NOW: String(NOW) }).status).not.toBe(0)
  })
})

describe('official-node.sh', () => {
  /** Creates an archive like those of the Node.js project, and a fake curl that copies it. */
  const publish = (listed: (sum: string) => string): void => {
    const name = 'node-v26.0.1-linux-x64'
    mkdirSync(join(folder, 'dist', name, 'bin'), { recursive: true })
    write('.nvmrc', '26.0.1\n')
    for (const file of ['bin/node', 'LICENSE']) write(`dist/${name}/${file}`, `the ${file}`)
    execFileSync('tar', ['-cJf', `${name}.tar.xz`, name], { cwd: join(folder, 'dist') })
    const [sum = ''] = execFileSync('sha256sum', [`${name}.tar.xz`], {
      cwd: join(folder, 'dist'),
      encoding: 'utf8',
    }).split(' ')
    write('dist/SHASUMS256.txt', `${listed(sum)}  ${name}.tar.xz\n${'0'.repeat(64)}  node-v26.0.1.tar.gz\n`)
    write('dist/SHASUMS256.txt.sig', 'a signature')
    program('curl', `while [ "$1" != --output ]; do shift; done; cp "${folder}/dist/$(basename "$3")" "$2"`)
  }
  const official = () => run('official-node.sh', ['x64', 'ring.kbx', join(folder, 'out')])

  it('`official-node.sh` prints the path of the verified program', () => {
    publish((sum) => sum)
    program('gpgv', `[ "$4" = ${folder}/out/SHASUMS256.txt.sig ] && [ "$3" = ring.kbx ]`)
    const { status, stdout, stderr } = official()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(readFileSync(stdout.trim(), 'utf8')).toBe('the bin/node')
  })

  it('`official-node.sh` fails if the checksum of the archive is wrong', () => {
    publish(() => 'f'.repeat(64))
    program('gpgv', 'exit 0')
    expect(official()).toMatchObject({ status: 1, stdout: '' })
  })

  it('`official-node.sh` fails if the signature of the checksums is wrong', () => {
    publish((sum) => sum)
    program('gpgv', 'echo "BAD signature" >&2; exit 1')
    expect(official()).toEqual({ status: 1, stdout: '', stderr: 'BAD signature\n' })
  })
})

describe('update-changeset.sh', () => {
  const git = (...args: readonly string[]): void => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false']
    execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'pipe' })
  }
  const file = (): string => readFileSync(join(folder, '.changeset/updates.md'), 'utf8')
  beforeEach(() => {
    mkdirSync(join(folder, '.changeset'))
    mkdirSync(join(folder, 'images'))
    write('.changeset/README.md', '')
    write('images/Dockerfile', 'FROM a\n')
    git('init', '--quiet')
    git('add', '--all')
    git('commit', '--quiet', '--message', 'a')
  })

  it('`update-changeset.sh` writes a changeset if the base image has changed since the newest release', () => {
    git('tag', 'v1.0.0')
    write('images/Dockerfile', 'FROM b\n')
    git('commit', '--quiet', '--all', '--message', 'b')
    expect(run('update-changeset.sh', [])).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(file()).toContain('"@csi-sidecars/attacher": patch')
  })

  it('`update-changeset.sh` writes no changeset before the first release, or for an unchanged base image', () => {
    const none = (): void => {
      expect(run('update-changeset.sh', [])).toEqual({ status: 0, stdout: '', stderr: '' })
      expect(file).toThrow('ENOENT')
    }
    none()
    git('tag', 'v1.0.0')
    none()
    write('images/Dockerfile', 'FROM b\n')
    git('commit', '--quiet', '--all', '--message', 'b')
    cpSync(join(folder, '.changeset/README.md'), join(folder, '.changeset/other.md'))
    none()
  })
})
