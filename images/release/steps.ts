import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { krewManifest } from '../tools/krew.ts'
import { collectFiles, VEX, writeChecksums } from './files.ts'
import { completePage, type Page } from './page.ts'
import type { Part, Subject } from './plan.ts'
import type { Storage } from './registry.ts'
import type { Release } from './release.ts'
import type { Signer, Statement } from './signer.ts'

/**
 * Stores and signs everything. Nothing of it is found by a name yet. Each step leaves what is done already, so the same
 * call continues after an interruption.
 */
export async function pushRelease(release: Release, storage: Storage, signer: Signer): Promise<void> {
  const { subjects, files, built, host, version } = release
  await checkTags(subjects, storage)
  collectFiles(
    built.map((folder) => join(folder, 'files')),
    files,
  )
  writeKrewManifest(built, files)
  await pushByDigest(subjects, storage)
  await signAll(subjects, signer, { host, version, files })
  await signer.signFile(writeChecksums(files))
}

/** The same on every machine until the checksums of all archives are in it. */
function writeKrewManifest(built: readonly string[], files: string): void {
  const [template, ...others] = built.map((folder) => readFileSync(join(folder, 'krew.yaml'), 'utf8'))
  if (template === undefined || others.some((each) => each !== template)) {
    throw new Error('the machines of the build made different manifests for krew')
  }
  writeFileSync(join(files, 'krew.yaml'), krewManifest(template, files))
}

export interface TagOptions {
  readonly storage: Storage
  readonly page: Page
  readonly notes: string
}

/** The last part: tags on what is stored and signed, and then the release page. */
export async function tagRelease({ subjects, files }: Release, { storage, page, notes }: TagOptions): Promise<void> {
  await tagAll(subjects, storage)
  await completePage(page, files, notes)
}

/** A tag that exists with another digest ends a release before it changes anything. Tags are never moved. */
async function checkTags(subjects: readonly Subject[], storage: Storage): Promise<void> {
  for (const { repository, tag, digest } of subjects) {
    const found = await storage.digestOf(repository, tag)
    if (found !== undefined && found !== digest) {
      throw new Error(`${repository}:${tag} exists as ${found} and would become ${digest}; tags are never moved`)
    }
  }
}

/** Stores everything by digest. What is there is left as it is, so this can be done again after an interruption. */
async function pushByDigest(subjects: readonly Subject[], storage: Storage): Promise<void> {
  for (const { repository, parts, digest, manifest } of subjects) {
    for (const part of parts) await pushPart(repository, part, storage)
    await pushManifest(repository, { digest, ...manifest }, storage)
  }
}

async function pushPart(repository: string, { layout, descriptor }: Part, storage: Storage): Promise<void> {
  const { config, layers } = layout.manifest(descriptor.digest)
  for (const { digest } of [config, ...layers]) {
    if (!(await storage.hasBlob(repository, digest))) await storage.putBlob(repository, layout.read(digest))
  }
  const { digest, mediaType } = descriptor
  await pushManifest(repository, { digest, mediaType, content: layout.read(digest) }, storage)
}

type Manifest = Subject['manifest'] & Pick<Subject, 'digest'>

async function pushManifest(repository: string, { digest, ...manifest }: Manifest, storage: Storage): Promise<void> {
  if ((await storage.digestOf(repository, digest)) === undefined) {
    await storage.putManifest(repository, digest, manifest)
  }
}

interface SignOptions {
  readonly host: string
  readonly version: string
  /** The folder with the bills of materials. */
  readonly files: string
}

/** Signs what is tagged and what it names, and attaches what is said about each. What is signed already is left. */
async function signAll(subjects: readonly Subject[], signer: Signer, options: SignOptions): Promise<void> {
  for (const subject of subjects) {
    const place = `${options.host}/${subject.repository}`
    const digests = new Set([subject.digest, ...subject.parts.map(({ descriptor }) => descriptor.digest)])
    for (const digest of digests) {
      if (!(await signer.isSigned(`${place}@${digest}`))) await signer.sign(`${place}@${digest}`)
    }
    for (const { digest, ...statement } of statementsOf(subject, options)) {
      const about = `${place}@${digest}`
      if (!(await signer.isAttested(about, statement))) await signer.attest(about, statement)
    }
  }
}

/** What is said about an image: on what the tag names as well, since `cosign verify-attestation` looks no deeper. */
function statementsOf({ digest, image, parts }: Subject, { files, version }: SignOptions) {
  if (image === undefined) return []
  const vex = join(files, VEX)
  return parts.flatMap(({ descriptor }) => {
    const sbom = join(files, `${image}-${version}-image-${descriptor.platform?.architecture}.spdx.json`)
    const statements: readonly Statement[] = [
      { type: 'spdxjson', file: sbom },
      ...(existsSync(vex) ? [{ type: 'openvex', file: vex } as const] : []),
    ]
    const abouts = [...new Set([digest, descriptor.digest])]
    return abouts.flatMap((about) => statements.map((statement) => ({ digest: about, ...statement })))
  })
}

/** What a user of an image notices. */
async function tagAll(subjects: readonly Subject[], storage: Storage): Promise<void> {
  await checkTags(subjects, storage)
  for (const { repository, tag, manifest } of subjects) {
    if ((await storage.digestOf(repository, tag)) === undefined) await storage.putManifest(repository, tag, manifest)
  }
}
