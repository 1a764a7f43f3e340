import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Bundle, BundledPackage } from './bundle.ts'
import type { DebianPackage, DebianParts, LibraryFile } from './libraries.ts'
import type { NodeOrigin } from './node-origin.ts'
import { type NodePart, nodeParts } from './node-parts.ts'

/** A bill of materials in SPDX 2.3, as JSON. */
export interface Spdx {
  readonly spdxVersion: 'SPDX-2.3'
  readonly dataLicense: 'CC0-1.0'
  readonly SPDXID: 'SPDXRef-DOCUMENT'
  readonly name: string
  readonly documentNamespace: string
  readonly creationInfo: { readonly created: string; readonly creators: readonly string[] }
  readonly packages: readonly SpdxPackage[]
  /** The libraries of an image, which come from packages of Debian. */
  readonly files?: readonly SpdxFile[]
  readonly relationships: readonly SpdxRelationship[]
}

export interface SpdxPackage {
  readonly SPDXID: string
  readonly name: string
  readonly versionInfo: string
  readonly downloadLocation: string
  readonly packageFileName?: string
  readonly comment?: string
  readonly filesAnalyzed: false
  readonly licenseConcluded: 'NOASSERTION'
  readonly licenseDeclared: string
  readonly copyrightText: 'NOASSERTION'
  readonly primaryPackagePurpose: 'APPLICATION' | 'LIBRARY'
  readonly checksums?: readonly { readonly algorithm: 'SHA512' | 'SHA256'; readonly checksumValue: string }[]
  readonly externalRefs?: readonly SpdxReference[]
}

interface SpdxFile {
  readonly SPDXID: string
  readonly fileName: string
  readonly checksums: readonly { readonly algorithm: 'SHA1' | 'SHA256'; readonly checksumValue: string }[]
  readonly licenseConcluded: 'NOASSERTION'
  readonly copyrightText: 'NOASSERTION'
}

interface SpdxReference {
  readonly referenceCategory: 'PACKAGE-MANAGER' | 'SECURITY'
  readonly referenceType: 'purl' | 'cpe23Type'
  readonly referenceLocator: string
}

interface SpdxRelationship {
  readonly spdxElementId: string
  readonly relationshipType: 'DESCRIBES' | 'CONTAINS' | 'GENERATED_FROM'
  readonly relatedSpdxElement: string
}

export interface SbomOptions {
  readonly bundle: Bundle
  readonly version: string
  /** Milliseconds since 1970: of the commit, so that the same commit gives the same text. */
  readonly createdAt: number
  readonly node: NodeOrigin
  /** In an image only: an executable uses the libraries of its machine. */
  readonly debian?: DebianParts
}

const COMMON = { filesAnalyzed: false, licenseConcluded: 'NOASSERTION', copyrightText: 'NOASSERTION' } as const

export function sbomOf({ bundle, version, createdAt, node, debian }: SbomOptions): Spdx {
  const app = application(bundle, version)
  const [itself, from] = [nodeItself(node), nodeArchive(node)]
  const parts = [
    ...bundle.packages.map(npmPackage),
    ...(debian?.packages ?? []).map((one) => debianPackage(one, debian?.distribution.id ?? '')),
  ]
  const inside = nodeParts().map(nodePart)
  const packages = [app, itself, from, ...inside, ...parts]
  const files = debian?.files ?? []
  const relationships: SpdxRelationship[] = [
    { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: app.SPDXID },
    { spdxElementId: app.SPDXID, relationshipType: 'CONTAINS', relatedSpdxElement: itself.SPDXID },
    { spdxElementId: itself.SPDXID, relationshipType: 'GENERATED_FROM', relatedSpdxElement: from.SPDXID },
    ...inside.map(({ SPDXID }) => contains(itself.SPDXID, SPDXID)),
    ...parts.map(({ SPDXID }) => contains(app.SPDXID, SPDXID)),
    ...files.map((file) =>
      contains(debianId(debian?.packages.find(({ name }) => name === file.package)), fileId(file)),
    ),
  ]
  const name = `${bundle.name}-${version}${debian === undefined ? '' : '-image'}`
  const digest = createHash('sha256').update(JSON.stringify(packages)).digest('hex')
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${digest}`,
    creationInfo: {
      created: new Date(createdAt).toISOString().replace(/\.\d+Z$/, 'Z'),
      creators: ['Tool: csi-sidecars-images'],
    },
    packages,
    ...(files.length > 0 && { files: files.map(libraryFile) }),
    relationships,
  }
}

const contains = (whole: string, part: string): SpdxRelationship => ({
  spdxElementId: whole,
  relationshipType: 'CONTAINS',
  relatedSpdxElement: part,
})

function application({ name, file }: Bundle, version: string): SpdxPackage {
  const checksumValue = createHash('sha256').update(readFileSync(file)).digest('hex')
  return {
    ...COMMON,
    SPDXID: `SPDXRef-${name}`,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    licenseDeclared: 'Apache-2.0',
    primaryPackagePurpose: 'APPLICATION',
    checksums: [{ algorithm: 'SHA256', checksumValue }],
  }
}

/** The file, by which scanners know its weaknesses. */
function nodeItself({ name, version, sha256 }: NodeOrigin): SpdxPackage {
  return {
    ...COMMON,
    SPDXID: 'SPDXRef-node',
    name: 'node',
    versionInfo: version,
    downloadLocation: archiveOf(name, version),
    packageFileName: 'bin/node',
    comment: `bin/node of the npm package ${name}, which has this SHA-256. Its symbols are taken out when it is shipped.`,
    licenseDeclared: 'MIT',
    primaryPackagePurpose: 'APPLICATION',
    checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    externalRefs: [purl(`pkg:generic/node@${version}`), security(`cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`)],
  }
}

/** A part of the file: it has no archive of its own. */
function nodePart({ name, version, licence, cpe }: NodePart): SpdxPackage {
  const known = /^[\d.]+/.exec(version)?.[0] ?? version
  return {
    ...COMMON,
    SPDXID: id('node-part', `${name}-${version}`),
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    licenseDeclared: licence,
    primaryPackagePurpose: 'LIBRARY',
    externalRefs: [
      purl(`pkg:generic/${name}@${version}`),
      ...(cpe === undefined ? [] : [security(`cpe:2.3:a:${cpe}:${known}:*:*:*:*:*:*:*`)]),
    ],
  }
}

/** The npm package that the file is copied from. */
function nodeArchive({ name, version, integrity }: NodeOrigin): SpdxPackage {
  return { ...npmPackage({ name, version, licence: 'MIT', integrity }), primaryPackagePurpose: 'APPLICATION' }
}

function npmPackage({ name, version, licence, integrity }: Omit<BundledPackage, 'folder'>): SpdxPackage {
  return {
    ...COMMON,
    SPDXID: id('npm', `${name}-${version}`),
    name,
    versionInfo: version,
    downloadLocation: archiveOf(name, version),
    licenseDeclared: licence.replace(/^\((.*)\)$/, '$1'),
    primaryPackagePurpose: 'LIBRARY',
    checksums: [{ algorithm: 'SHA512', checksumValue: hexOf(integrity) }],
    externalRefs: [purl(`pkg:npm/${name.replace('@', '%40')}@${version}`)],
  }
}

function debianPackage(one: DebianPackage, distribution: string): SpdxPackage {
  const { name, version, architecture, source, sourceVersion } = one
  return {
    ...COMMON,
    SPDXID: debianId(one),
    name,
    versionInfo: version,
    downloadLocation: sourcesOf(one, distribution),
    comment: `Built from ${source} ${sourceVersion}. The texts of its licences are in /usr/share/doc/${name}/copyright.`,
    licenseDeclared: licenceOf(source),
    primaryPackagePurpose: 'LIBRARY',
    externalRefs: [purl(`pkg:deb/${distribution}/${name}@${encodeURIComponent(version)}?arch=${architecture}`)],
  }
}

/** What the libraries of an image are licensed under, by source package. */
const LICENCES: readonly (readonly [RegExp, string])[] = [
  [/^glibc$/, 'LGPL-2.1-or-later'],
  [/^gcc(?:-\d+)?$/, 'GPL-3.0-or-later WITH GCC-exception-3.1'],
]

function licenceOf(source: string): string {
  const found = LICENCES.find(([pattern]) => pattern.test(source))
  if (found === undefined) throw new Error(`an image has libraries of ${source}: add its licence to LICENCES`)
  return found[1]
}

function sourcesOf({ source, sourceVersion }: DebianPackage, distribution: string): string {
  const version = encodeURIComponent(sourceVersion)
  return distribution === 'ubuntu'
    ? `https://launchpad.net/ubuntu/+source/${source}/${version}`
    : `https://snapshot.debian.org/package/${source}/${version}/`
}

function debianId(one: DebianPackage | undefined): string {
  if (one === undefined) throw new Error('a library of an image is of no package')
  return id('deb', `${one.name}-${one.version}`)
}

const fileId = ({ path }: LibraryFile): string => id('file', path)

function libraryFile(file: LibraryFile): SpdxFile {
  return {
    SPDXID: fileId(file),
    fileName: file.path,
    checksums: [
      { algorithm: 'SHA1', checksumValue: file.sha1 },
      { algorithm: 'SHA256', checksumValue: file.sha256 },
    ],
    licenseConcluded: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
  }
}

const archiveOf = (name: string, version: string): string =>
  `https://registry.npmjs.org/${name}/-/${name.split('/').at(-1)}-${version}.tgz`

const purl = (referenceLocator: string): SpdxReference => ({
  referenceCategory: 'PACKAGE-MANAGER',
  referenceType: 'purl',
  referenceLocator,
})

const security = (referenceLocator: string): SpdxReference => ({
  referenceCategory: 'SECURITY',
  referenceType: 'cpe23Type',
  referenceLocator,
})

/** SPDX allows letters, digits, dots and dashes. */
const id = (kind: string, name: string): string =>
  `SPDXRef-${kind}-${name.replace(/[^A-Za-z0-9.-]+/g, '-').replace(/^-/, '')}`

function hexOf(integrity: string): string {
  const [algorithm, base64] = integrity.split('-')
  if (algorithm !== 'sha512' || base64 === undefined) throw new Error(`no SHA-512 in ${integrity}`)
  return Buffer.from(base64, 'base64').toString('hex')
}
