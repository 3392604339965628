-- Makes a page of the site of one of our Markdown files: its first heading is the title, links to Markdown go to the pages made of
-- it, tables scroll by themselves, and the pages that docs/README.md lists are the navigation. PAGE (README.md, docs/c.md, ...) and
-- ROOT ("" or "../") are in the environment.
local page, root = os.getenv("PAGE"), os.getenv("ROOT")

local function is_elsewhere(target) return target:match("^%a[%w+.-]*:") end

local function address(target)
  if is_elsewhere(target) then return target end
  target = target:gsub("README%.md", "index.html")
  return (target:gsub("%.md$", ".html"):gsub("%.md#", ".html#"))
end

-- From the list in docs/README.md to an address as seen from this page.
local function from_docs(target)
  if target:match("^%.%./") then return root .. target:sub(4) end
  return root .. "docs/" .. target
end

local function file_text(name)
  local file = assert(io.open(name))
  local text = file:read("a")
  file:close()
  return text
end

local function navigation()
  local blocks = pandoc.List()
  for _, block in ipairs(pandoc.read(file_text("docs/README.md"), "gfm").blocks) do
    if block.t == "Header" and block.level == 2 then
      blocks:insert(pandoc.Plain{pandoc.Strong(block.content)})
    elseif block.t == "BulletList" then
      local items = pandoc.List()
      for _, item in ipairs(block.content) do
        pandoc.walk_block(pandoc.Div(item), {Link = function(link)
          local here = from_docs(link.target) == root .. page
          items:insert({pandoc.Plain{pandoc.Link(link.content, address(from_docs(link.target)), "", here and {["aria-current"] = "page"} or {})}})
        end})
      end
      blocks:insert(pandoc.BulletList(items))
    end
  end
  return blocks
end

local function without_widths(table)
  for i, column in ipairs(table.colspecs) do table.colspecs[i] = {column[1], nil} end
  return pandoc.Div({table}, {class = "scroll whole"})
end

function Pandoc(document)
  local first = document.blocks[1]
  assert(first and first.t == "Header" and first.level == 1, page .. " does not begin with a heading")
  document.blocks:remove(1)
  local name = pandoc.utils.stringify(first)
  document.meta.title = pandoc.MetaInlines(first.content)
  document.meta.pagetitle = name:match("^hws") and name or name .. " - hws"
  document = document:walk{
    Link = function(link) link.target = address(link.target) return link end,
    Table = without_widths,
  }
  document.meta.nav = pandoc.MetaBlocks(navigation())
  return document
end
