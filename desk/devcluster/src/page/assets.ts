import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { HERE, isSource } from '../place.ts'

/** One file of the page, with its content type. */
export interface Asset {
  readonly type: string
  readonly body: Buffer
}

const HTML = 'text/html; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

/** The folder of the page's files. The bundle is in the same folder. */
const FOLDER = isSource ? new URL('page/', HERE) : HERE

/** Loads all files of the page, by path. In the repository the scripts are TypeScript sources without the types. */
export async function loadAssets(): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>()
  const add = async (path: string, type: string, file: string): Promise<void> => {
    assets.set(path, { type, body: await readFile(new URL(file, FOLDER)) })
  }
  await add('/', HTML, 'page.html')
  for (const file of ['base.css', 'page.css', 'cluster.css']) await add(`/${file}`, CSS, file)
  if (isSource) await addSources(assets)
  else await add('/view/main.ts', SCRIPT, 'page.js')
  return assets
}

async function addSources(assets: Map<string, Asset>): Promise<void> {
  const folder = new URL('view/', FOLDER)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts'))
  const adding = names.map(async (name) => {
    const source = await readFile(new URL(name, folder), 'utf8')
    assets.set(`/view/${name}`, { type: SCRIPT, body: Buffer.from(stripTypeScriptTypes(source)) })
  })
  await Promise.all(adding)
}
