import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SIDECARS as SIDECAR_LIST } from '@csi-sidecars/sidecars'
import { describe, expect, it } from '@jest/globals'
import { type BundledPackage, packagesOf, ROOT, readBundle, readJson, releaseVersion, SIDECARS } from './bundle.ts'
import { startScript } from './context.ts'
import { licencesIn, noticesOf } from './notices.ts'

const locked = (version: string, license = 'MIT') => ({ version, license })

describe('packagesOf', () => {
  const metafile = (inputs: Record<string, number>) => ({
    outputs: {
      'dist/x.mjs': {
        inputs: Object.fromEntries(Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }])),
      },
    },
  })
  const find = (inputs: Record<string, number>, packages: Record<string, object>) =>
    packagesOf(metafile(inputs), { packages }, '/repo').map(
      ({ name, version, folder }) => `${name} ${version} ${folder}`,
    )

  it('the package list of a bundle contains each bundled package once', () => {
    const inputs = {
      '../../node_modules/a/x.js': 1,
      '../../node_modules/a/y.js': 2,
      '../../node_modules/unused/x.js': 0,
    }
    const packages = { 'node_modules/a': locked('1.0.0'), 'node_modules/unused': locked('2.0.0') }
    expect(find(inputs, packages)).toEqual(['a 1.0.0 /repo/node_modules/a'])
  })

  it('the package list of a bundle contains scoped packages, and packages inside other packages', () => {
    const inputs = { '../../node_modules/@s/a/x.js': 1, '../../node_modules/@s/a/node_modules/b/x.js': 1 }
    const packages = { 'node_modules/@s/a': locked('1.0.0'), 'node_modules/@s/a/node_modules/b': locked('2.0.0') }
    expect(find(inputs, packages)).toEqual([
      '@s/a 1.0.0 /repo/node_modules/@s/a',
      'b 2.0.0 /repo/node_modules/@s/a/node_modules/b',
    ])
  })

  it('a package with several installed versions is listed with the version that the bundle contains', () => {
    const inputs = { '../../libs/l/node_modules/a/x.js': 1 }
    const packages = { 'node_modules/a': locked('1.0.0'), 'libs/l/node_modules/a': locked('2.0.0') }
    expect(find(inputs, packages)).toEqual(['a 2.0.0 /repo/libs/l/node_modules/a'])
  })

  it('the packages of a bundle exclude packages of this repository and replaced modules', () => {
    const inputs = {
      '../../libs/base/src/clock.ts': 1,
      'src/main.ts': 1,
      'lean:undici': 1,
      'plain-builtin:node:tls': 1,
    }
    expect(find(inputs, {})).toEqual([])
  })

  it('the packages of a bundle include the version of yargs that csi-devcluster declares', () => {
    const folder = join(ROOT, 'desk/devcluster')
    const { dependencies } = readJson<{ dependencies: { yargs: string } }>(join(folder, 'package.json'))
    const inside = packagesOf(readJson(join(folder, 'dist/meta.json')), readJson(join(ROOT, 'package-lock.json')), ROOT)
    expect(inside.map(({ name, version }) => ({ [name]: version }))).toContainEqual({ yargs: dependencies.yargs })
  })

  it('the package list of a bundle cannot be built if the lockfile lacks one of its packages', () => {
    expect(() => find({ '../../node_modules/a/x.js': 1 }, {})).toThrow(
      'node_modules/a is in the bundle, but package-lock.json',
    )
  })
})

const MADE_UP: BundledPackage = { name: '@s/a', version: '1.0.0', licence: 'MIT', folder: '' }

describe('noticesOf', () => {
  it('the licence notices find all licence names in an SPDX expression', () => {
    expect(licencesIn('(Apache-2.0 AND BSD-3-Clause)')).toEqual(['Apache-2.0', 'BSD-3-Clause'])
  })

  it('the licence notices cause an error for a licence that is not allowed', () => {
    expect(() => noticesOf([{ ...MADE_UP, licence: 'MIT OR GPL-3.0-only' }])).toThrow(
      '@s/a 1.0.0 is licensed under GPL-3.0-only',
    )
  })

  it('the licence notices contain the licence file of a package, or else the standard text of each licence', () => {
    const folder = mkdtempSync(join(tmpdir(), 'package-'))
    try {
      writeFileSync(join(folder, 'package.json'), '{}')
      const bare = noticesOf([{ ...MADE_UP, folder, licence: '(Apache-2.0 AND BSD-3-Clause)' }])
      expect(bare).toMatch(/Apache License[\s\S]*Copyright 2008 Google Inc/)
      writeFileSync(join(folder, 'license.md'), 'Another licence')
      expect(noticesOf([{ ...MADE_UP, folder }])).toMatch(/@s\/a 1\.0\.0 \(MIT\)\n=+\n\nAnother licence\n/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.each(SIDECARS)('the licence notices name all packages in %s, and Node.js', (name) => {
    const { packages } = readBundle(name)
    const text = noticesOf(packages)
    expect(packages.map((one) => one.name)).toEqual(expect.arrayContaining(['@grpc/grpc-js', '@bufbuild/protobuf']))
    for (const one of packages) expect(text).toContain(`\n${one.name} ${one.version} (`)
    expect(text).toContain('Node.js and what is in it')
  })
})

describe('startScript', () => {
  it('the start script starts Node with the flags of the build', () => {
    const { flags } = readBundle('csi-resizer')
    expect(startScript({ flags })).toMatch(/^#!\/usr\/bin\/node --openssl-config=\/dev\/null\n/)
  })

  it('the start script ignores OPENSSL_CONF in the environment of the pod', () => {
    const folder = mkdtempSync(join(tmpdir(), 'script-'))
    try {
      const [script, config] = [join(folder, 'script'), join(folder, 'bad.cnf')]
      const [line = ''] = startScript(readBundle('csi-resizer')).split('\n')
      writeFileSync(script, `${line.replace('/usr/bin/node', process.execPath)}\nconsole.log('started')\n`, {
        mode: 0o755,
      })
      writeFileSync(config, 'no equal sign\n')
      expect(execFileSync(script, { env: { OPENSSL_CONF: config }, encoding: 'utf8' })).toBe('started\n')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('`startScript` throws for a flag of the build that the script does not set', () => {
    expect(() => startScript({ flags: ['--a', '--b'] })).toThrow('does not set --b')
  })
})

/**
 * The largest size of each bundle in bytes, because V8 keeps the text of the bundle in memory. Do not raise it without
 * need.
 */
const MAX_BYTES = {
  'csi-attacher': 800_000,
  'csi-resizer': 810_000,
  'csi-provisioner': 855_000,
  'csi-snapshotter': 785_000,
  'csi-sidecars': 1_085_000,
}

/** The largest size of a code cache in parts of its bundle. It has the compiled functions that a start uses. */
const MAX_CACHE_PARTS = 1.1

/** The path of the Node.js for which `npm run build` has created the code caches. */
const BUILD_NODE = execFileSync(
  process.execPath,
  ['--input-type=module', '--eval', "import { buildNode } from './tools/executable.mjs'; console.log(buildNode())"],
  { cwd: ROOT, env: { ...process.env, NODE_OPTIONS: '' }, encoding: 'utf8' },
).trim()

describe.each(SIDECARS)('sidecar bundle %s', (name) => {
  const { file, cache, flags } = readBundle(name)

  it('the bundle and its code cache stay below their size limits', () => {
    const { size } = statSync(file)
    expect(size).toBeLessThan(MAX_BYTES[name])
    expect(statSync(cache).size).toBeLessThan(MAX_CACHE_PARTS * size)
  })

  it('the bundle contains only ASCII, so that V8 keeps one byte for each character', () => {
    expect(/[^\0-\x7f]/.test(readFileSync(file, 'latin1'))).toBe(false)
  })

  it.each([
    ['accepts', [], false],
    ['with other flags rejects', ['--no-opt'], true],
  ])('the bundle comes with a code cache that its Node.js %s', (_, others, rejected) => {
    const code = `
      const { readFileSync } = require('node:fs')
      const { Script } = require('node:vm')
      const text = readFileSync(${JSON.stringify(file)}, 'latin1')
      const cachedData = readFileSync(${JSON.stringify(cache)})
      const script = new Script('(function (exports, require, module) {' + text + '\\n})', { cachedData })
      console.log(script.cachedDataRejected)`
    const output = execFileSync(BUILD_NODE, [...flags, ...others, '--eval', code], { encoding: 'utf8', env: {} })
    expect(output).toBe(`${rejected}\n`)
  })

  it.each([
    ['all', [], true],
    ['none, if a flag changes the hash of all flags,', ['--no-opt'], false],
  ])("the bundle starts with %s of Node's own modules from their cache", (_, others, cached) => {
    const code = `
      const { internalBinding } = require('internal/test/binding')
      for (const name of ['http2', 'tls', 'https', 'zlib', 'dns', 'vm', 'v8', 'sea']) require('node:' + name)
      const { compiledWithCache, compiledWithoutCache } = internalBinding('builtins').getCacheUsage()
      console.log(compiledWithCache.size > compiledWithoutCache.size, compiledWithoutCache.size === 0)`
    const args = [...flags, ...others, '--no-warnings', '--expose-internals', '--eval', code]
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', env: {} })
    expect(output).toBe(`${cached} ${cached}\n`)
  })

  it('the bundle contains the source position of each log call', () => {
    const text = readFileSync(file, 'utf8')
    expect(text).toMatch(/\.infoAt\("start\/[\w-]+\.ts:\d+","/)
    expect(text).toMatch(/\.vAt\("csi\/connection\.ts:\d+",5\)/)
  })
})

it('the release version is RELEASE_VERSION, or else the version in package.json', () => {
  expect(releaseVersion(undefined, { RELEASE_VERSION: 'v9.0.0' })).toBe('v9.0.0')
  expect(releaseVersion(undefined, {})).toMatch(/^v\d+\.\d+\.\d+$/)
})

it.each(SIDECAR_LIST.map(({ app, does, value }) => [app, does, value.replaces]))(
  'the Dockerfile has a target %s with the description "%s" and the replaced Go sidecar %s',
  (app, does, replaces) => {
    const text = readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8')
    expect(text).toContain(`FROM node AS ${app}\nCOPY --from=sidecars-files /files/csi-${app}/ /\n`)
    expect(text).toContain(`LABEL description="csi-${app}: ${does}" \\\n      replaces="${replaces}"`)
  },
)

it('Dockerfile and .nvmrc name the same Node.js version, and package.json its major version', () => {
  const expected = readFileSync(join(ROOT, '.nvmrc'), 'utf8').trim()
  const dockerfile = readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8')
  expect(/^FROM docker\.io\/library\/node:([\d.]+)-/m.exec(dockerfile)?.[1]).toBe(expected)
  const { optionalDependencies } = readJson<{ optionalDependencies: Record<string, string> }>(
    join(ROOT, 'package.json'),
  )
  const majors = Object.values(optionalDependencies).map((version) => version.split('.')[0])
  expect(new Set([expected.split('.')[0], ...majors]).size).toBe(1)
})

it.each(SIDECAR_LIST.map(({ app }) => app))('docker-bake.hcl builds the target %s', (app) => {
  const [, apps = ''] = /^ +app += \[(.*)\]$/m.exec(readFileSync(join(ROOT, 'images/docker-bake.hcl'), 'utf8')) ?? []
  expect(apps).toContain(`"${app}"`)
})
