import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { type Clock, messageOf } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import type { Logger } from '@csi-sidecars/telemetry'

/** A certificate with its chain and its key, as PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

type ReadText = (file: string) => Promise<string>

/** The source of a value that another process may replace. */
export interface FileSource<T> {
  readonly read: () => Promise<readonly string[]>
  /** Creates the value from the texts of `read`. Throws if they are unusable. */
  readonly parse: (texts: readonly string[]) => T
  /** The log messages for a new value and for an unusable value. */
  readonly loadedMessage: string
  readonly refusedMessage: string
}

const readText: ReadText = (file) => readFile(file, 'utf8')
/** The maximum number of tries to read a certificate and a key of the same version. */
const MAX_READS = 3

export function keyPairSource(certFile: string, keyFile: string, read: ReadText = readText): FileSource<KeyPair> {
  return {
    read: () => readPair(certFile, keyFile, read),
    parse: ([cert = '', key = '']) => assertValidPair({ cert, key }),
    loadedMessage: 'Loaded a new cert/key pair',
    refusedMessage: 'Failed to load the cert/key pair, the one before stays',
  }
}

/** Returns a source that reads the authorities of client certificates from a PEM file. */
export function authoritiesSource(file: string): FileSource<string> {
  return {
    read: async () => [await readText(file)],
    parse: ([pem = '']) => assertAcceptedByOpenSsl({ ca: pem }, checkedAuthorities(pem, file)),
    loadedMessage: 'Loaded a new CA Bundle and Verifier',
    refusedMessage: 'Failed to load the CA bundle, the one before stays',
  }
}

/** Reads a certificate and its key. Reads both again if they were replaced between the reads. */
async function readPair(certFile: string, keyFile: string, read: ReadText): Promise<readonly string[]> {
  for (let reads = 1; ; reads += 1) {
    const texts = [await read(certFile), await read(keyFile)]
    if (reads === MAX_READS || (await read(certFile)) === texts[0]) return texts
  }
}

/** Checks that the key belongs to the certificate, which Node does not check. The error texts are Go's. */
function assertValidPair(pair: KeyPair): KeyPair {
  const [first = ''] = blocksIn(pair.cert)
  if (first === '') throw new Error('tls: failed to find any PEM data in certificate input')
  if (!pair.key.includes('-----BEGIN ')) throw new Error('tls: failed to find any PEM data in key input')
  if (!new X509Certificate(first).checkPrivateKey(privateKey(pair.key))) {
    throw new Error('tls: private key does not match public key')
  }
  return assertAcceptedByOpenSsl(pair, pair)
}

/** Throws if OpenSSL refuses the certificates, for example because of a malformed chain or a small key. */
function assertAcceptedByOpenSsl<T>(context: SecureContextOptions, value: T): T {
  createSecureContext(context)
  return value
}

/** Parses a key. The error omits the reason of the parser, which may quote parts of the key. */
function privateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Error('tls: failed to parse private key')
  }
}

function checkedAuthorities(pem: string, file: string): string {
  const blocks = blocksIn(pem)
  if (blocks.length === 0) throw new Error(`data does not contain any valid certificates: ${file}`)
  for (const block of blocks) new X509Certificate(block)
  return pem
}

function blocksIn(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
}

const DAYS = 365
/** The age at which a self-signed certificate is renewed: half of its lifetime. */
const RENEW_AFTER_MS = (DAYS * 24 * 60 * 60 * 1000) / 2

/** The addresses 127.0.0.1 and ::1. */
const LOOPBACK = [
  [127, 0, 0, 1],
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
]

/** Returns the source of a self-signed certificate for this host, which is renewed in time. */
export function selfSignedSource(clock: Clock, hostName: string): FileSource<KeyPair> {
  let createdAt = Number.NEGATIVE_INFINITY
  let texts: readonly string[] = []
  return {
    read: async () => {
      if (clock.now() - createdAt < RENEW_AFTER_MS) return texts
      createdAt = clock.now()
      const { cert, key } = selfSignedCertificate({
        commonName: hostName,
        dnsNames: [...new Set([hostName, 'localhost'])],
        addresses: LOOPBACK,
        now: createdAt,
        days: DAYS,
      })
      texts = [cert, key]
      return texts
    },
    parse: ([cert = '', key = '']) => ({ cert, key }),
    loadedMessage: 'Made a new certificate',
    refusedMessage: 'Failed to make a certificate, the one before stays',
  }
}

/** A value that is read again from its source. An unusable new value is logged once, and the old value stays. */
export class ReloadingFile<T> {
  readonly #source: FileSource<T>
  readonly #log: Logger
  #texts: readonly string[]
  #lastError: string | undefined
  value: T

  /** Reads the first value. Throws if the source has no valid value. */
  static async open<T>(source: FileSource<T>, log: Logger): Promise<ReloadingFile<T>> {
    const texts = await source.read()
    return new ReloadingFile(source, { log, texts, value: source.parse(texts) })
  }

  private constructor(
    source: FileSource<T>,
    { log, texts, value }: { log: Logger; texts: readonly string[]; value: T },
  ) {
    this.#source = source
    this.#log = log
    this.#texts = texts
    this.value = value
  }

  /** Reads the source. Returns whether the value has changed. */
  async reload(): Promise<boolean> {
    try {
      const texts = await this.#source.read()
      const same = texts.length === this.#texts.length && texts.every((text, index) => text === this.#texts[index])
      // Unchanged files keep the value. Each successful read resets `#complaint`, so that the next failure is logged.
      if (!same) this.value = this.#source.parse(texts)
      this.#texts = texts
      this.#lastError = undefined
      if (!same) this.#log.v(2)?.info(this.#source.loadedMessage)
      return !same
    } catch (error) {
      const complaint = messageOf(error)
      if (complaint !== this.#lastError) this.#log.error(error, this.#source.refusedMessage)
      this.#lastError = complaint
      return false
    }
  }
}
