"""Words that are in no term, or are none alone.

`FUNCTION_WORDS` hold English sentences together; they also show that a text is English. `VAGUE_WORDS` are adjectives
that praise, count or compare; in names they are as good as others (New York, Great Britain). `IDLE_WORDS` are
participles that are verbs nearly always, dates, and what every page says of itself. `LIGHT_WORDS` are nouns that say
something only together with others: a time, but time complexity. `FOREIGN_WORDS` are the function words of some other
languages, for pages that are taken word by word.
"""

from __future__ import annotations


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


FUNCTION_WORDS = _listed("""
    a about above across after again against ago all almost alone along already also although always am among amongst an
    and another any anybody anyone anything anyway anywhere are aren around as aside at away back be became because
    become becomes been before behind being below beneath beside besides between beyond both but by can cannot could
    couldn despite did didn do does doesn doing don done down due during each either else elsewhere enough etc even ever
    every everybody everyone everything everywhere except far few for from further furthermore get gets getting give
    given gives go goes going gone got had hadn has hasn have haven having he hence her here hers herself him himself
    his how however i if in indeed inside instead into is isn it its itself just keep kept know known latter least less
    let like likely ll made make makes making many may maybe me meanwhile might mine more moreover most mostly much must
    my myself namely near nearly neither never nevertheless next no nobody none nor not nothing now nowhere of off often
    on once one ones only onto or other others otherwise ought our ours ourselves out outside over own per perhaps
    please put quite rather re really s said same say says see seem seemed seems seen self several shall she should
    shouldn since so some somebody somehow someone something sometime sometimes somewhere soon still such t take taken
    takes taking than that the their theirs them themselves then there thereby therefore these they this those though
    through throughout thus to together too toward towards under underneath unless unlike until up upon us use used uses
    using ve versus very via was wasn we well went were weren what whatever when whenever where whereas whereby wherever
    whether which whichever while who whoever whole whom whose why will with within without won would wouldn yes yet you
    your yours yourself yourselves
""")

VAGUE_WORDS = _listed("""
    able actual additional adequate afraid alike amazing ample appropriate apparent available aware awful bad best
    better brief careful careless certain clear close considerable convenient correct crucial current dear decent
    different difficult easier easiest easy enormous entire essential excellent extra famous first former frequent fun
    funny glad good great greater greatest happy helpful huge important incredible interested interesting last late
    later latest likewise little longer longest lovely necessary new newer newest nice notable noteworthy numerous
    obvious occasional odd ok okay ordinary overall particular past possible present pretty previous prior probable
    ready recent related relevant remarkable respective responsible second serious significant similar so-called
    specific strange striking subsequent substantial sufficient suitable superb sure surprising terrible third tiny true
    typical ultimate unable unlikely unusual usual valuable various vast weird welcome wonderful worse worst worth
    worthy wrong
""")

IDLE_WORDS = _listed("""
    accompanying accordingly according added allowed allowing apply asked asking based bearing becoming began begin
    beginning begun believe belonging bringing brought called calling came carried carrying caused causing chosen come
    comes coming compared concerning considered considering consisted consisting contained containing continued
    continuing corresponding created creating dealing depending described describing designated discussed discussing
    ending enabling especially exceeding expected explained extending facing feel felt finding followed following found
    gave giving grown held helped helping holding hoping identifying included including increased increasing indicated
    indicating intended involved involving joining keeping knowing lasting leaving led lets located looked looking lost
    lying meant met mentioned moved moving named needed needing obtained occurred occurring offered offering passed paid
    performed placed played playing prepared presented presenting produced producing provided providing putting raised
    ranging reached received receiving referred regarding relating remained remaining reported representing required
    requiring resulting running saw saying seeing sent setting showed showing shown sitting spanning spent standing
    started starting stated stating stood stopped suggested suggesting supposed surrounding surviving talking telling
    thinking thought told took tried trying turned turning understood updated viewed wanted wanting went willing wish
    working

    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    january february march april june july august september october november december jan feb apr jun jul aug sep sept
    oct nov yesterday today tomorrow tonight am pm edt pst pdt gmt

    click clicking copyright homepage html http https mailto nbsp url webmaster www
""")

LIGHT_WORDS = _listed("""
    amount aspect aspects bit bunch case cases couple day days deal degree dozen end example examples fact facts fall
    half hour hours hundred hundreds instance instances kind kinds lot lots matter means million millions minute minutes
    moment month months number numbers pair part parts people person piece place plenty point points purpose purposes
    question questions reason reasons rest result results sake seconds sense set side sides sort sorts stuff thing
    things thousand thousands time times top total type types use variety version way ways week weeks year years
    afternoon evening morning night sun sat mar dec
    comment comments contact ftp home index link links navigation page pages site sites web website websites
""")

STOP_WORDS = FUNCTION_WORDS | VAGUE_WORDS | IDLE_WORDS

FOREIGN_WORDS = _listed("""
    aber als am an auch auf aus bei bis das dass dem den der des die diese dieser durch ein eine einem einen einer eines
    er es für hat ich ihr im ist kann mit nach nicht noch nur oder sein sich sie sind so über um und uns unter vom von
    vor war was werden wie wir wird wurde wurden zu zum zur

    au aux avec car ce ces cette comme dans de des du elle en est et être il ils je la le les leur leurs lui mais ne nos
    notre nous on ont ou où par pas plus pour qu que qui sa sans se ses son sont sous sur tout tous un une vos votre
    vous

    al como con cuando del desde donde el ella ellos entre era es esta este esto ha hay la las lo los más me mi muy no
    para pero por que se según ser si sin sobre son su sus también tan tiene todo todos un una uno unos y ya

    ai alla alle anche che chi ci come con cui da dai dal dalla degli dei del dell della delle di e è era fra gli ha
    hanno i il in io la le lo loro ma nei nel nell nella nelle non o per più quale quando quella quello questa questo se
    si sono su sua sui sul sulla suo tra un una uno

    ao aos as até com da das de do dos e ela ele em entre essa esse está eu foi isso já mais mas na nas não nem no nos o
    os ou para pela pelo por quando que são se sem ser seu seus sua suas também tem um uma

    aan als bij dan dat de deze die dit door een en er haar had heeft het hij hun ik in is kan maar meer met naar niet
    nog of om onder ook op over te tot uit van veel voor was wat werd wordt worden zich zij zijn zo

    af at att av blev blir de dem den denna der det detta dig du eller en er et ett från för før fra har hon hun i ikke
    inte jag jeg kan med men mellan mellem når och og om på sig sin ska skal som till til ut var vi vid är

    ale dla do i jak jest jego jej już które który lub ma na nie o od po przez przy się są tak to tylko w we z za że

    без был была были было быть в вы да для до его ее если есть же за и из или их к как ко ли на не но о об он она они
    оно от по при с со так также то только у что это эта этот я
""")
